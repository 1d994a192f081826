// What the steps of a plan wait for.
#include "weft/compiler/step_reads.h"

#include <gtest/gtest.h>

#include "weft/graph/text.h"

namespace weft::step_reads_test {
namespace {

using Numbers = std::vector<std::size_t>;

TEST(StepReads, FollowsViewsToWhatTheyShow) {
  const Function function =
      parse_graph(R"(func @f(%0: f32[4, 6], %1: f32[6, 4], %2: f32[24])
          -> (f32[4, 4]) {
    %3 = matmul(%0, %1) : f32[4, 4]
    %4 = reshape(%2) {shape = shape[4, 6]} : f32[4, 6]
    %5 = matmul(%4, %1) : f32[4, 4]
    %6 = matmul(%3, %5) : f32[4, 4]
    return %6
  })")
          .functions.at(0);
  const auto steps = form_steps(function, true);
  ASSERT_EQ(steps.size(), 3u);
  const auto reads = reads_of(function, steps);
  EXPECT_EQ(reads[0].arguments, (Numbers{0, 1}));
  EXPECT_EQ(reads[0].predecessors, Numbers{});
  EXPECT_EQ(reads[1].arguments, (Numbers{1, 2}));
  EXPECT_EQ(reads[2].arguments, Numbers{});
  EXPECT_EQ(reads[2].predecessors, (Numbers{0, 1}));
}

// What is only there to say when something runs has the bytes of its operand.
TEST(StepReads, DoNotWaitForWhatTheyDoNotRead) {
  const Function function =
      parse_graph(R"(func @f(%0: f32[4, 4], %1: f32[4, 4]) -> (f32[4, 4]) {
    %2 = matmul(%0, %1) : f32[4, 4]
    %3 = after(%1, %2) : f32[4, 4]
    %4 = matmul(%3, %3) : f32[4, 4]
    return %4
  })")
          .functions.at(0);
  const auto steps = form_steps(function, true);
  const auto reads = reads_of(function, steps);
  for (std::size_t s = 0; s < steps.size(); ++s) {
    const bool is_last = function.node(steps[s].nodes.back()).outputs[0] ==
                         function.results()[0];
    const Numbers arguments = is_last ? Numbers{1} : Numbers{0, 1};
    EXPECT_EQ(reads[s].arguments, arguments);
    EXPECT_EQ(reads[s].predecessors, Numbers{});
  }
}

}  // namespace
}  // namespace weft::step_reads_test
