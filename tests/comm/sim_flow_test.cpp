#include "weft/comm/transport/sim_flow.h"

#include <gtest/gtest.h>
#include <vector>

namespace weft::sim_flow_test {
namespace {

TEST(SimFlow, TheNextMessageIsForTheNextReceiveWhicheverIsFirst) {
  SimFlow flow;
  SimMessage& first = flow.send();
  SimMessage& second = flow.send();
  EXPECT_EQ(&flow.claim(), &first);
  EXPECT_EQ(&flow.claim(), &second);
  SimMessage& third = flow.claim();
  SimMessage& fourth = flow.claim();
  EXPECT_EQ(&flow.send(), &third);
  EXPECT_EQ(&flow.send(), &fourth);
  SimMessage& fifth = flow.send();
  EXPECT_EQ(&flow.claim(), &fifth);
}

TEST(SimFlow, EndsInTheOrderOfSending) {
  SimFlow flow;
  SimMessage& first = flow.send();
  SimMessage& second = flow.send();
  second.has_arrived = true;
  second.is_claimed = true;
  EXPECT_EQ(flow.over(), nullptr);
  first.has_arrived = true;
  EXPECT_EQ(flow.over(), nullptr);  // nobody waits for it
  first.is_claimed = true;
  EXPECT_EQ(flow.over(), &first);
  flow.pop();
  EXPECT_EQ(flow.over(), &second);
  flow.pop();
  EXPECT_TRUE(flow.is_empty());
  EXPECT_EQ(flow.over(), nullptr);
}

TEST(SimFlow, AClaimThatIsTakenBackLeavesTheTurnToTheNext) {
  SimFlow flow;
  const SimMessage& first = flow.claim();
  const SimMessage& second = flow.claim();
  const SimMessage& third = flow.claim();
  flow.withdraw(second);
  EXPECT_EQ(&flow.send(), &first);
  flow.withdraw(third);
  // Only the first is left, which is sent: another message waits for another
  // receive.
  const SimMessage& fourth = flow.send();
  EXPECT_EQ(&flow.claim(), &fourth);
  flow.pop();
  flow.pop();
  EXPECT_TRUE(flow.is_empty());
}

}  // namespace
}  // namespace weft::sim_flow_test
