// Every rule against its samples: text, numbers and gradients.
#include "weft/compiler/rule.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/op_case.h"

#include "weft/autodiff/gradient.h"
#include "weft/graph/registry.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::rule_test {
namespace {

Function function_of(const std::string& text) {
  return parse_graph(text).functions.at(0);
}

class RuleTest : public ::testing::TestWithParam<std::string> {
 protected:
  const RuleDef& rule() const { return rule_registry().get(GetParam()); }
};

TEST_P(RuleTest, MakesOfItsSamplesWhatItSays) {
  EXPECT_FALSE(rule().summary.empty());
  const auto changes = [](const RuleSample& each) {
    return !each.after.empty();
  };
  // A rule is shown by what it does and by what it leaves alone.
  EXPECT_TRUE(std::ranges::any_of(rule().samples, changes));
  EXPECT_FALSE(std::ranges::all_of(rule().samples, changes));
  for (const RuleSample& sample : rule().samples) {
    const Function before = function_of(sample.before);
    const std::vector<Match> matches =
        find_matches(before, Readers(before), rule());
    EXPECT_EQ(matches.empty(), sample.after.empty()) << sample.before;
    if (matches.empty()) continue;
    const Function after = apply(before, matches.front());
    verify(after);
    EXPECT_EQ(to_string(after), to_string(function_of(sample.after)));
  }
}

// Numbers of a sample's parameters, the same for the same type and place.
std::vector<Tensor> arguments_of(const Function& function) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    const TensorType& type = function.type(id);
    arguments.push_back(
        testing::random_tensor({.type = type, .low = 0.25, .high = 1},
                               static_cast<std::uint64_t>(id)));
  }
  return arguments;
}

// Without fusion each op computes what its definition says.
std::vector<Tensor> run(const Function& function) {
  return Executable(function, {.fuse = false}).run(arguments_of(function));
}

TEST_P(RuleTest, ComputesTheSame) {
  for (const RuleSample& sample : rule().samples) {
    if (sample.after.empty()) continue;
    const std::vector<Tensor> before = run(function_of(sample.before));
    const std::vector<Tensor> after = run(function_of(sample.after));
    ASSERT_EQ(before.size(), after.size());
    for (std::size_t i = 0; i < before.size(); ++i) {
      testing::expect_close(after[i], before[i], 64);
    }
  }
}

TEST_P(RuleTest, HasTheSameGradients) {
  for (const RuleSample& sample : rule().samples) {
    if (sample.after.empty() || !rule().holds_in_training) continue;
    const Function before = function_of(sample.before);
    std::vector<std::size_t> floats;
    for (std::size_t i = 0; i < before.parameters().size(); ++i) {
      if (is_floating(before.type(before.parameters()[i]).dtype)) {
        floats.push_back(i);
      }
    }
    const std::vector<Tensor> expected = run(differentiate(before, floats));
    const std::vector<Tensor> actual =
        run(differentiate(function_of(sample.after), floats));
    ASSERT_EQ(actual.size(), expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) {
      testing::expect_close(actual[i], expected[i], 256);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, RuleTest,
                         ::testing::ValuesIn(names_of(rule_registry())),
                         [](const auto& each) { return each.param; });

}  // namespace
}  // namespace weft::rule_test
