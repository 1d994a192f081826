// Every op's entry is complete, and every kernel that takes one of its
// samples computes what the reference computes. No op is named here.
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

#include "weft/base/parallel.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"

namespace weft::testing::kernel_property_test {
namespace {

TEST(Registry, EveryEntryIsComplete) {
  for (const OpDef& op : op_registry().all()) {
    SCOPED_TRACE(op.name());
    EXPECT_FALSE(op.summary().empty());
    EXPECT_FALSE(op.signature().empty());
    EXPECT_NE(op.cost(), nullptr);
    if (op.has(kControl)) continue;  // what they compute is their functions'
    EXPECT_TRUE(op.reference() != nullptr || op.lower() != nullptr);
    EXPECT_TRUE(op.gradient() != nullptr || op.lower() != nullptr ||
                op.has(kNoGradient));
    EXPECT_FALSE(op.gradient() != nullptr && op.has(kNoGradient));
    if (op.has(kHost)) continue;  // no sample stands for a program's code
    ASSERT_NE(op.samples(), nullptr);
    EXPECT_FALSE(op.samples()().empty());
  }
}

TEST(Registry, CostsAreFiniteAndCountTheBytes) {
  for_each_case([](const OpCase& c) {
    if (c.op().cost() == nullptr) return;
    const Cost cost = c.op().cost()(c.call());
    EXPECT_TRUE(cost.flops >= 0 && cost.flops < 1e15);
    EXPECT_TRUE(cost.bytes >= 0 && cost.bytes < 1e15);
  });
}

TEST(Kernels, EveryCandidateEqualsTheReference) {
  for_each_case([](const OpCase& c) {
    if (c.op().reference() == nullptr) return;
    const auto expected = c.reference();
    for (const auto& candidate : kernel_registry().candidates(c.op().name())) {
      if (candidate.declines && candidate.declines(c.call())) continue;
      SCOPED_TRACE(candidate.name);
      const auto kernel = candidate.prepare(c.call());
      const auto actual = run_guarded(*kernel, c.inputs(), c.output_types());
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expect_close(actual[i], expected[i], c.reduction_length());
      }
    }
  });
}

TEST(Kernels, OutputsMayOverwriteInputsWhereTheKernelSaysSo) {
  for_each_case([](const OpCase& c) {
    if (c.op().reference() == nullptr || c.inputs().empty()) return;
    for (const auto& candidate : kernel_registry().candidates(c.op().name())) {
      if (!candidate.in_place || c.output_types()[0] != c.input_types()[0] ||
          (candidate.declines && candidate.declines(c.call()))) {
        continue;
      }
      SCOPED_TRACE(candidate.name);
      const auto expected = c.reference();
      std::vector<Tensor> inputs = c.inputs();
      inputs[0] = inputs[0].clone();
      std::vector<Tensor> outputs = {inputs[0]};
      for (std::size_t i = 1; i < c.output_types().size(); ++i) {
        outputs.push_back(Tensor::empty(c.output_types()[i]));
      }
      std::vector<void*> in;
      std::vector<void*> out;
      for (const Tensor& tensor : inputs) in.push_back(tensor.raw());
      for (const Tensor& tensor : outputs) out.push_back(tensor.raw());
      const auto kernel = candidate.prepare(c.call());
      const Tensor scratch = Tensor::empty(
          {DType::kU8, {static_cast<Dim>(kernel->scratch_bytes())}});
      kernel->run({in.data(), out.data(), scratch.raw()});
      for (std::size_t i = 0; i < expected.size(); ++i) {
        expect_close(outputs[i], expected[i], c.reduction_length());
      }
    }
  });
}

TEST(Kernels, TheThreadCountChangesNoBit) {
  const int threads = thread_count();
  for_each_case([](const OpCase& c) {
    if (c.op().reference() == nullptr &&
        kernel_registry().candidates(c.op().name()).empty()) {
      return;  // a composite runs as the ops it lowers to
    }
    const KernelChoice choice = choose_kernel(c.call());
    set_thread_count(1);
    const auto serial =
        run_guarded(*choice.kernel, c.inputs(), c.output_types());
    for (const int count : {2, 3}) {
      set_thread_count(count);
      const auto parallel =
          run_guarded(*choice.kernel, c.inputs(), c.output_types());
      for (std::size_t i = 0; i < serial.size(); ++i) {
        EXPECT_TRUE(identical(serial[i], parallel[i]))
            << choice.name << " on " << count << " threads";
      }
    }
  });
  set_thread_count(threads);
}

TEST(Graphs, EveryOpRoundTripsThroughTheTextForm) {
  for_each_case([](const OpCase& c) {
    FunctionBuilder builder("main");
    std::vector<Value> parameters;
    for (const TensorType& type : c.input_types()) {
      parameters.push_back(builder.parameter(type));
    }
    const Function function = builder.build([&] {
      return call_all(c.op(), parameters, c.sample().attributes, Location());
    });
    verify(function);
    const std::string text = to_string(function);
    const Graph read = parse_graph(text);
    ASSERT_EQ(read.functions.size(), 1u);
    verify(read);
    EXPECT_EQ(to_string(read.functions[0]), text);
  });
}

}  // namespace
}  // namespace weft::testing::kernel_property_test
