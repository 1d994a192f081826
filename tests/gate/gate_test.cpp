// A gate over its lives: what passes, what is spent, and what it compares with.
#include "tests/gate/fixture.h"

namespace weft::gate_test {
namespace {

using namespace test;

class GateTest : public test::GateFixture {};

TEST_F(GateTest, LetsGoodModelsPass) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(floor.submit(model(0.6), 0), GateAnswer::kFailed);
  EXPECT_EQ(floor.state().life->uses_left(), 1);
  EXPECT_NEAR(details(floor)["clauses"][0]["estimate"], 0.6, 0.2);
}

TEST_F(GateTest, TellsARepeatedModelWhatItWasTold) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Gate(file(kFloor), LedgerMode::kOpen).submit(model(0.95), 0),
              GateAnswer::kPassed);
  }
  EXPECT_EQ(floor.state().life->uses_left(), 2);
}

TEST_F(GateTest, RefusesWhenTheSetIsUsedUp) {
  Gate floor = gate(kFloor);
  floor.init("", false);
  for (const double accuracy : {0.5, 0.6, 0.95}) {
    floor.submit(model(accuracy), 0);
  }
  EXPECT_EQ(floor.state().life->end, GateEnd::kSteps);
  expect_error(ErrorCode::kInvalidArgument, {"used up by 3 verdicts"},
               [&] { floor.submit(model(0.97), 0); });
  // What was told stays told.
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  floor.init("", false);
  EXPECT_EQ(floor.state().life->number, 2);
  EXPECT_EQ(floor.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(floor.state().life->uses_left(), 2);
}

TEST_F(GateTest, NeverUsesAPointInTwoLives) {
  const char* narrow = "condition = 'n > 0.7 +/- 0.05'\nsteps = 3\n";
  Gate floor = gate(narrow);
  std::set<std::string> released;
  std::size_t points = 0;
  for (int life = 0; life < 3; ++life) {
    floor.init("", false);
    for (const double accuracy : {0.5, 0.55, 0.6}) {
      floor.submit(model(accuracy), 0);
    }
    const std::string text = floor.release();
    EXPECT_EQ(floor.release(), text);
    const IdTable table(records_from_csv(text, "released"), kLabelColumn);
    const Records records = records_from_csv(text, "released");
    points += records.rows();
    for (std::size_t i = 0; i < records.rows(); ++i) {
      released.emplace(records.field(i, 0));
      const std::string id(records.field(i, 0));
      EXPECT_EQ(table.find(id), label_of(std::stoul(id.substr(5))));
    }
  }
  EXPECT_EQ(released.size(), points);
  EXPECT_EQ(points, 3 * static_cast<std::size_t>(
                            plan_gate(file(narrow).config.terms).points));
  // What is left of the pool is too little at some time.
  expect_error(ErrorCode::kUnavailable, {"no verdict has rested on"}, [&] {
    for (int life = 0; life < 20; ++life) {
      floor.init("", false);
      for (const double accuracy : {0.5, 0.55, 0.6}) {
        floor.submit(model(accuracy), 0);
      }
    }
  });
}

TEST_F(GateTest, EndsAtTheFirstPassWhereThatIsAgreed) {
  Gate first = gate(std::string(kFloor) + "adaptivity = \"first-change\"\n");
  first.init("", false);
  EXPECT_EQ(first.submit(model(0.5), 0), GateAnswer::kFailed);
  EXPECT_EQ(first.state().life->end, GateEnd::kNot);
  EXPECT_EQ(first.submit(model(0.95), 0), GateAnswer::kPassed);
  EXPECT_EQ(first.state().life->end, GateEnd::kPass);
  EXPECT_EQ(first.state().life->uses_left(), 0);
  expect_error(ErrorCode::kInvalidArgument, {"a model has passed"},
               [&] { first.submit(model(0.97), 0); });
}

TEST_F(GateTest, ComparesWithTheModelThatPassedLast) {
  Gate gain = gate(kGain);
  gain.init(model(0.5), false);
  EXPECT_EQ(gain.submit(model(0.75), 0), GateAnswer::kPassed);
  // It is better than the first one, and no better than the one that passed.
  EXPECT_EQ(gain.submit(model(0.74), 0), GateAnswer::kFailed);
  EXPECT_EQ(gain.submit(model(1.0), 0), GateAnswer::kPassed);
  gain.init("", false);
  EXPECT_EQ(gain.submit(model(0.9), 0), GateAnswer::kFailed);
}

TEST_F(GateTest, JudgesModelsThatDifferMoreThanExpectedOnMorePoints) {
  Gate gain = gate(
      "condition = 'n - o > 0.3 +/- 0.2'\nsteps = 1\ndifference = 0.5\n"
      "adaptivity = \"first-change\"\n");
  const GatePlan plan = plan_gate(gain.file().config.terms);
  ASSERT_GT(plan.clauses[0].points_without, plan.clauses[0].points);
  ASSERT_LT(plan.points_at_best, static_cast<std::int64_t>(kPool));
  gain.init(model(0.2), false);
  EXPECT_EQ(gain.submit(model(0.9), 0), GateAnswer::kPassed);
  EXPECT_EQ(details(gain)["clauses"][0]["points"],
            plan.clauses[0].points_without);
  EXPECT_EQ(details(gain)["labels"], details(gain)["differences"]);
}

TEST_F(GateTest, NeedsAModelToCompareWith) {
  Gate gain = gate(kGain);
  gain.init("", false);
  expect_error(ErrorCode::kInvalidArgument, {"no old model", "--old"},
               [&] { gain.submit(model(0.9), 0); });
  // Nothing was spent.
  EXPECT_EQ(gain.state().life->uses_left(), 3);
}

}  // namespace
}  // namespace weft::gate_test
