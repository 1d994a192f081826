// Groups of parameters, each against an optimizer that has it alone.
#include "weft/optim/groups.h"

#include <gtest/gtest.h>

#include "tests/support/optimizer_run.h"
#include "tests/support/values.h"

#include "weft/base/wildcard.h"

namespace weft::groups_test {
namespace {

using test::OptimizerRun;

std::vector<Tensor> three_parameters() {
  return {test::pattern({3, 2}, -1, 1, 1), test::pattern({5}, -1, 1, 2),
          test::pattern({4}, -1, 1, 3)};
}

TEST(Wildcard, StandsForAnyCharacters) {
  for (const auto& [pattern, text] : {std::pair("*", ""),
                                      {"*.bias", "a.b.bias"},
                                      {"a*c*", "abcbc"},
                                      {"a**", "a"},
                                      {"0.weight", "0.weight"},
                                      {"*a*ab", "aaab"}}) {
    EXPECT_TRUE(matches_wildcard(pattern, text)) << pattern << " " << text;
  }
  for (const auto& [pattern, text] : {std::pair("", "a"),
                                      {"*.bias", "bias"},
                                      {"a*c", "abcb"},
                                      {"a", ""},
                                      {"*a*ab", "aba"},
                                      {"0.weigh", "0.weight"}}) {
    EXPECT_FALSE(matches_wildcard(pattern, text)) << pattern << " " << text;
  }
}

// Parameters are called p0, p1 and p2.
TEST(Groups, AreTrainedAsIfAlone) {
  std::vector<ParameterGroup> groups;
  groups.push_back({"p0", 0.5, make_optimizer("prodigy", {})});
  groups.push_back({"*1", 1, make_optimizer("momentum", {{"momentum", 0.5}})});
  OptimizerRun run(
      group_optimizers(make_optimizer("prodigy", {}), std::move(groups)),
      three_parameters());
  const auto first = three_parameters();
  OptimizerRun zero(make_optimizer("prodigy", {}), {first[0]});
  OptimizerRun one(make_optimizer("momentum", {{"momentum", 0.5}}), {first[1]});
  OptimizerRun two(make_optimizer("prodigy", {}), {first[2]});
  for (int step = 0; step < 5; ++step) {
    const std::vector<Value> gradients = {
        test::pattern({3, 2}, -1, 1, 10 + step),
        test::pattern({5}, -1, 1, 20 + step),
        test::pattern({4}, -1, 1, 30 + step)};
    run.step(gradients, 0.1);
    zero.step({gradients[0]}, 0.05);
    one.step({gradients[1]}, 0.1);
    two.step({gradients[2]}, 0.1);
  }
  EXPECT_TRUE(identical(run.parameter(0), zero.parameter()));
  EXPECT_TRUE(identical(run.parameter(1), one.parameter()));
  EXPECT_TRUE(identical(run.parameter(2), two.parameter()));
  // Each has a distance of its own: first the group's, then that of the rest.
  EXPECT_TRUE(identical(run.shared(0), zero.shared(0)));
  EXPECT_TRUE(identical(run.shared(2), two.shared(0)));
}

TEST(Groups, SayWhatTheyRememberApart) {
  std::vector<ParameterGroup> groups;
  groups.push_back({"a", 1, make_optimizer("prodigy", {})});
  const auto grouped =
      group_optimizers(make_optimizer("prodigy", {}), std::move(groups));
  std::vector<std::string> names;
  for (const Slot& slot : grouped->shared_slots()) {
    names.push_back(slot_name(slot));
  }
  EXPECT_EQ(names, (std::vector<std::string>{
                       "optimizer.distance.group-0", "optimizer.r.group-0",
                       "optimizer.distance", "optimizer.r"}));
}

}  // namespace
}  // namespace weft::groups_test
