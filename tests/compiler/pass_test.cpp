// Every pass against its samples, and its results against those without it.
#include "weft/compiler/pass.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>
#include <set>

#include "tests/support/errors.h"
#include "tests/support/op_case.h"

#include "weft/compiler/rule.h"
#include "weft/graph/builder.h"
#include "weft/graph/registry.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::pass_test {
namespace {

Function function_of(const std::string& text) {
  return parse_graph(text).functions.at(0);
}

// All passes but `pass` that can be left out, and all rules.
PassOptions alone(const PassDef& pass) {
  PassOptions options;
  for (const PassDef& each : pass_registry().all()) {
    if (each.name != pass.name && !each.is_needed) {
      options.without.push_back(each.name);
    }
  }
  for (const RuleDef& each : rule_registry().all()) {
    options.without.push_back(each.name);
  }
  return options;
}

std::vector<std::string> pass_names() { return names_of(pass_registry()); }

class PassTest : public ::testing::TestWithParam<std::string> {};

TEST_P(PassTest, MakesOfItsSamplesWhatItSays) {
  const PassDef& pass = pass_registry().get(GetParam());
  EXPECT_FALSE(pass.summary.empty());
  // At least one sample changes: samples that stay do not show what a pass
  // does.
  EXPECT_TRUE(
      std::any_of(pass.samples.begin(), pass.samples.end(),
                  [](const PassSample& each) { return !each.after.empty(); }));
  for (const PassSample& sample : pass.samples) {
    const std::string& after =
        sample.after.empty() ? sample.before : sample.after;
    EXPECT_EQ(to_string(run_passes(function_of(sample.before), alone(pass))),
              to_string(function_of(after)));
  }
}

TEST_P(PassTest, LeavesAloneWhereBitsMustStayWhatWouldChangeThem) {
  const PassDef& pass = pass_registry().get(GetParam());
  if (pass.keeps_bits) return;
  PassOptions options = alone(pass);
  options.may_round = false;
  for (const PassSample& sample : pass.samples) {
    const Function before = function_of(sample.before);
    EXPECT_EQ(to_string(run_passes(before, options)), to_string(before));
  }
}

// Numbers of a sample's parameters, the same for the same type and place.
std::vector<Tensor> arguments_of(const Function& function) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    const Tensor numbers =
        Tensor::empty({DType::kF32, function.type(id).shape});
    for (Dim i = 0; i < numbers.size(); ++i) {
      numbers.data<float>()[i] =
          static_cast<float>((7 * i + 3 * Dim{id}) % 11 - 5) / 4;
    }
    arguments.push_back(cast(Value(numbers), function.type(id).dtype).tensor());
  }
  return arguments;
}

TEST_P(PassTest, ComputesTheSameWithAndWithout) {
  const PassDef& pass = pass_registry().get(GetParam());
  if (pass.is_needed) return;
  for (const PassSample& sample : pass.samples) {
    const Function function = function_of(sample.before);
    const std::vector<Tensor> arguments = arguments_of(function);
    const std::vector<Tensor> with = Executable(function).run(arguments);
    const std::vector<Tensor> without =
        Executable(function, {.without = {pass.name}}).run(arguments);
    ASSERT_EQ(with.size(), without.size());
    for (std::size_t i = 0; i < with.size(); ++i) {
      if (pass.keeps_bits)
        EXPECT_EQ(std::memcmp(with[i].raw(), without[i].raw(), with[i].bytes()),
                  0);
      else
        testing::expect_close(with[i], without[i], 8);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, PassTest, ::testing::ValuesIn(pass_names()),
                         [](const auto& each) { return each.param; });

TEST(Passes, HaveAnOrderThatNoTwoShareAndOpsThatExist) {
  std::set<int> orders;
  for (const PassDef& pass : pass_registry().all()) {
    EXPECT_TRUE(orders.insert(pass.order).second) << pass.name;
    EXPECT_NE(pass.rewrite == nullptr, pass.run == nullptr) << pass.name;
    for (const std::string& op : pass.ops) {
      EXPECT_NE(op_registry().find(op), nullptr) << pass.name << ": " << op;
    }
  }
}

TEST(Passes, RefuseToLeaveOutWhatIsUnknownOrNeeded) {
  const Function function = function_of(
      "func @f(%0: f32[4]) -> (f32[4]) {\n %1 = exp(%0) : f32[4]\n"
      " return %1\n}");
  test::expect_error(
      ErrorCode::kInvalidArgument, {"join_slice", "join_slices"},
      [&] { run_passes(function, {.without = {"join_slice"}}); });
  test::expect_error(
      ErrorCode::kInvalidArgument, {"lower_composites", "cannot be planned"},
      [&] { run_passes(function, {.without = {"lower_composites"}}); });
}

// Hashing reads only the first bytes of a large constant.
TEST(MergeEqualNodes, ComparesConstantsToTheLastByte) {
  const auto constants_in = [](float last) {
    Tensor one = Tensor::zeros({DType::kF32, {1000}});
    Tensor other = Tensor::zeros({DType::kF32, {1000}});
    other.data<float>()[999] = last;
    FunctionBuilder builder("f");
    const Function function = builder.build([&] {
      return std::vector{builder.constant(one) + builder.constant(other)};
    });
    const Function simple = run_passes(function);
    return std::count_if(
        simple.nodes().begin(), simple.nodes().end(),
        [](const Node& node) { return node.op->name() == "constant"; });
  };
  EXPECT_EQ(constants_in(0), 1);
  EXPECT_EQ(constants_in(1), 2);
}

// A sum of 0.0 and one of -0.0 are not the same, and NaN is itself.
TEST(MergeEqualNodes, ComparesNumbersByTheirBits) {
  const auto nodes_of = [](double a, double b) {
    FunctionBuilder builder("f");
    const Function function = builder.build([&] {
      const Value x = full({DType::kF32, {4}}, a);
      return std::vector{x, full({DType::kF32, {4}}, b)};
    });
    return run_passes(function).nodes().size();
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(nodes_of(0.0, -0.0), 2u);
  EXPECT_EQ(nodes_of(kNaN, kNaN), 1u);
}

}  // namespace
}  // namespace weft::pass_test
