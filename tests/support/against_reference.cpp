#include "tests/support/against_reference.h"

#include <algorithm>
#include <cmath>

#include "weft/base/parallel.h"
#include "weft/base/philox.h"

namespace weft {
namespace {

std::vector<TensorType> types_of(const OpSample& sample) {
  std::vector<TensorType> types;
  for (const InputSample& input : sample.inputs) types.push_back(input.type);
  return types;
}

void fill(const Tensor& tensor, double low, double high, RandomStream random) {
  dispatch(tensor.dtype(), [&]<class T>(T) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double unit =
          uniform_from(random.word(static_cast<std::uint64_t>(i)));
      if constexpr (std::is_same_v<T, bool>) {
        tensor.data<T>()[i] = unit < 0.5;
      } else if constexpr (std::is_integral_v<T>) {
        tensor.data<T>()[i] = static_cast<T>(
            std::min(std::floor(low + unit * (high - low + 1)), high));
      } else {
        tensor.data<T>()[i] = T(static_cast<float>(low + unit * (high - low)));
      }
    }
  });
}

void expect_close(const Tensor& actual, const Tensor& expected,
                  double tolerance) {
  ASSERT_EQ(actual.type(), expected.type());
  // What lies beside the middle of two halves is rounded to either of them, and
  // they are a unit in the last place apart.
  if (actual.dtype() == DType::kBF16) tolerance += 0x1p-7;
  if (actual.dtype() == DType::kF16) tolerance += 0x1p-10;
  if (!is_floating(actual.dtype())) tolerance = 0;
  double largest = 0;
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    largest = std::max(largest, std::fabs(expected.item(i)));
  }
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(actual.item(i), expected.item(i), tolerance * largest)
        << "element " << i << " of " << to_string(actual.type());
  }
}

}  // namespace

Call::Call(const std::string& op, const OpSample& sample)
    : op_(op_registry().get(op)),
      sample_(sample),
      attributes_(op_.complete(sample.attributes)),
      inputs_(types_of(sample)),
      outputs_(op_.infer_types(inputs_, attributes_)) {}

std::vector<Tensor> Call::random_operands(std::uint64_t seed) const {
  std::vector<Tensor> operands;
  for (const InputSample& input : sample_.inputs) {
    operands.push_back(Tensor::empty(input.type));
    fill(operands.back(), input.low, input.high,
         {seed, static_cast<std::uint32_t>(operands.size()), 0});
  }
  return operands;
}

std::vector<Tensor> Call::run(PreparedKernel& kernel,
                              const std::vector<Tensor>& operands) const {
  std::vector<Tensor> results;
  std::vector<void*> inputs;
  std::vector<void*> outputs;
  for (const Tensor& operand : operands) inputs.push_back(operand.raw());
  for (const TensorType& type : outputs_) {
    results.push_back(Tensor::empty(type));
    // Whatever a kernel leaves out must show.
    if (results.back().bytes() > 0) {
      std::memset(results.back().raw(), 0x7f, results.back().bytes());
    }
    outputs.push_back(results.back().raw());
  }
  const Tensor scratch =
      Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
  kernel.run({inputs.data(), outputs.data(), scratch.raw()});
  return results;
}

std::vector<Tensor> Call::run_reference(
    const std::vector<Tensor>& operands) const {
  std::vector<Tensor> results;
  std::vector<TensorView> inputs;
  std::vector<TensorView> outputs;
  for (const Tensor& operand : operands) inputs.push_back(operand.view());
  for (const TensorType& type : outputs_) {
    results.push_back(Tensor::empty(type));
    outputs.push_back(results.back().view());
  }
  op_.reference()(get(), inputs, outputs);
  return results;
}

std::string Call::describe() const {
  std::string text = op_.name() + "(";
  for (const TensorType& type : inputs_) text += to_string(type) + " ";
  return text + ")" + to_string(attributes_);
}

const KernelCandidate& candidate(const std::string& op,
                                 const std::string& name) {
  for (const KernelCandidate& c : kernel_registry().candidates(op)) {
    if (c.name == name) return c;
  }
  throw Error(ErrorCode::kInvalidArgument, "test", "{} has no kernel {}", op,
              name);
}

bool agrees_with_reference(const std::string& op, const std::string& name,
                           const OpSample& sample, double tolerance) {
  const Call call(op, sample);
  SCOPED_TRACE(name + ": " + call.describe());
  const KernelCandidate& chosen = candidate(op, name);
  if (chosen.declines != nullptr && chosen.declines(call.get())) return false;
  const auto operands = call.random_operands();
  const auto expected = call.run_reference(operands);
  const auto kernel = chosen.prepare(call.get());
  const auto actual = call.run(*kernel, operands);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    expect_close(actual[i], expected[i], tolerance);
  }
  const auto again = call.run(*kernel, operands);
  for (std::size_t i = 0; i < actual.size(); ++i) {
    EXPECT_TRUE(identical(actual[i], again[i])) << "a second run differs";
  }
  return true;
}

void expect_agreement(const std::string& op, const std::string& name,
                      double tolerance) {
  int taken = 0;
  for (const OpSample& sample : op_registry().get(op).samples()()) {
    taken += agrees_with_reference(op, name, sample, tolerance);
  }
  EXPECT_GT(taken, 0) << name << " takes no sample of " << op;
}

}  // namespace weft
