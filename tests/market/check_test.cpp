// Checks of trainings: which stages are drawn, and what becomes of workers,
// checkers and payers.
#include "tests/market/jobs.h"

#include "weft/market/challenge.h"
#include "weft/market/checking.h"

namespace weft::test {
namespace {

using market::AssignmentState;
using market::JobState;

constexpr std::int64_t kStages = 10;

// A training of ten stages, of which two are drawn: w1 runs it, w2 is the next
// who would check it. A read is 100,000 units, so that at a price of 20 the
// checker of two in ten stages of 800 reads gets 320.
class Checks : public Jobs {
 protected:
  Checks() {
    const std::int64_t nonce = scene.nonce_of("buyer");
    scene.send("buyer", "submit_job",
               job()
                   .number("checks", 2)
                   .number("stage", 4)
                   .number("check_gas", 2000)
                   .key("commitment",
                        market::first_commitment(key_named("buyer"),
                                                 scene.state.market, nonce)));
  }

  market::Report committed(const std::string& name) {
    market::Report report = honest(name);
    report.stages = kStages;
    report.states = MarketScene::digest("the states of " + name);
    return report;
  }
  market::Digest secret() {
    return market::next_secret(key_named("buyer"), scene.state, 1);
  }
  void reveal() {
    scene.send("buyer", "reveal",
               said().number("job", 1).key("secret", secret()));
  }
  void open(const std::string& name) {
    scene.send(name, "open_states",
               said().number("job", 1).all<market::Digest>(
                   "evidence", {MarketScene::digest("list")}));
  }
  SaidFields verdict(const std::string& name, bool holds) {
    const market::Checker& checker = *market::running_checker(at(1));
    market::Verdict said_verdict{
        .job = 1,
        .nonce = checker.assignment.nonce,
        .measurement = at(1).measurement,
        .states = market::checked_assignment(at(1)).report->states,
        .holds = holds};
    return said()
        .number("job", 1)
        .key("assignment", said_verdict.nonce)
        .key("measurement", said_verdict.measurement)
        .key("states", said_verdict.states)
        .flag("holds", holds)
        .text("signature", market::to_hex(market::sign_verdict(
                               key_named(name + "'s machine"), said_verdict)));
  }
  void judge(const std::string& name, bool holds) {
    scene.send(name, "verdict", verdict(name, holds));
  }
  // Up to the first checker's having the states.
  void begin_check() {
    report("w1", committed("w1"));
    reveal();
    open("w1");
  }
};

TEST_F(Checks, PayAWorkerWhoseStagesHold) {
  begin_check();
  EXPECT_EQ(at(1).state, JobState::kChecking);
  EXPECT_EQ(at(1).checking.drawn.size(), 2u);
  EXPECT_EQ(job_of("w2"), 1);
  judge("w2", true);
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(scene.balance("w1"), 900 + 800);
  EXPECT_EQ(scene.balance("w2"), 900 + 320);
  EXPECT_EQ(worker("w1").job, 0);
  EXPECT_EQ(worker("w2").job, 0);
  // 800 for the work, as much for the data, 5 % for the platform, the check.
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 800 - 800 - 80 - 320);
}

TEST_F(Checks, SlashAWorkerThatTwoCheckersRefute) {
  begin_check();
  judge("w2", false);
  EXPECT_TRUE(scene.noted("a second checker decides"));
  EXPECT_EQ(worker("w1").stake, 100);
  open("w1");
  judge("w3", false);
  EXPECT_EQ(at(1).assignments[0].state, AssignmentState::kRefuted);
  EXPECT_EQ(worker("w1").stake, 0);
  EXPECT_EQ(worker("w1").reputation, -5);
  EXPECT_EQ(scene.balance("w1"), 900);
  // Both are paid, and the job is for another, at w1's price at most.
  EXPECT_EQ(scene.balance("w2"), 900 + 320);
  EXPECT_EQ(scene.balance("w3"), 900 + 480);
  scene.send("w2", "offer", offer_of("w2", 10, 0));
  EXPECT_EQ(job_of("w2"), 1);
  EXPECT_TRUE(at(1).checking.drawn.empty());
}

TEST_F(Checks, SlashACheckerThatIsAlone) {
  begin_check();
  judge("w2", false);
  open("w1");
  judge("w3", true);
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(worker("w1").stake, 100);
  EXPECT_EQ(worker("w2").stake, 0);
  EXPECT_EQ(worker("w3").stake, 100);
}

TEST_F(Checks, DrawAnewForTheNextWorker) {
  begin_check();
  const market::Digest first = at(1).checking.commitment;
  judge("w2", false);
  open("w1");
  judge("w3", false);
  scene.send("w2", "offer", offer_of("w2", 10, 0));
  report("w2", committed("w2"));
  // The secret that everybody knows by now does not draw again.
  scene.expect_refused("buyer", "reveal",
                       said().number("job", 1).key("secret", first),
                       "committed to another secret");
  EXPECT_EQ(market::commitment_to(secret()), first);
  reveal();
  EXPECT_EQ(at(1).checking.drawn.size(), 2u);
}

TEST_F(Checks, TellNoSecretBeforeTheReport) {
  scene.expect_refused("buyer", "reveal",
                       said().number("job", 1).key("secret", secret()),
                       "no report waits");
  report("w1", committed("w1"));
  scene.expect_refused("w1", "reveal",
                       said().number("job", 1).key("secret", secret()),
                       "only its payer");
  reveal();
  expect_error(ErrorCode::kInvalidArgument, {"committed to no secret"},
               [&] { market::next_secret(key_named("w1"), scene.state, 1); });
}

TEST_F(Checks, SlashAReportWithoutStates) {
  report("w1", honest("w1"));
  EXPECT_TRUE(scene.noted("it commits itself to no states"));
  EXPECT_EQ(worker("w1").stake, 0);
}

TEST_F(Checks, AreWaivedByAPayerThatIsSilent) {
  report("w1", committed("w1"));
  scene.wait(101);
  EXPECT_TRUE(scene.noted("has not revealed the secret"));
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 800 - 800 - 80);
}

TEST_F(Checks, SlashAWorkerThatDoesNotOpenItsStates) {
  report("w1", committed("w1"));
  reveal();
  scene.wait(101);
  EXPECT_TRUE(scene.noted("it has not opened its states"));
  EXPECT_EQ(at(1).assignments[0].state, AssignmentState::kLate);
  EXPECT_EQ(worker("w1").stake, 0);
  EXPECT_EQ(worker("w2").job, 0);
}

TEST_F(Checks, SlashACheckerThatIsLateAndTakeAnother) {
  begin_check();
  scene.wait(101);
  EXPECT_EQ(worker("w2").stake, 0);
  EXPECT_EQ(job_of("w3"), 1);
  open("w1");
  judge("w3", true);
  EXPECT_EQ(at(1).state, JobState::kPaid);
}

TEST_F(Checks, GiveMoneyBackWhereNoSecondCheckerComes) {
  begin_check();
  for (const char* name : {"w3", "w4"}) scene.send(name, "retire");
  judge("w2", false);
  scene.wait(1001);
  EXPECT_EQ(at(1).state, JobState::kFailed);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 320);
  EXPECT_EQ(worker("w1").stake, 100);
  EXPECT_EQ(worker("w1").job, 0);
}

TEST_F(Checks, PayWhereNobodyChecksForTheGas) {
  for (const char* name : {"w2", "w3", "w4"}) scene.send(name, "retire");
  report("w1", committed("w1"));
  reveal();
  scene.wait(1001);
  EXPECT_TRUE(scene.noted("nobody checks it for this check_gas"));
  EXPECT_EQ(at(1).state, JobState::kPaid);
}

TEST_F(Checks, HoldVerdictsToTheMachineAndTheStates) {
  begin_check();
  scene.expect_refused("w3", "verdict", verdict("w3", true), "does not check");
  SaidFields swapped = verdict("w2", true);
  scene.send("w2", "verdict", swapped.flag("holds", false));
  EXPECT_TRUE(scene.noted("not signed by the checker's machine"));
  EXPECT_EQ(worker("w2").stake, 0);
  EXPECT_EQ(worker("w1").stake, 100);
  EXPECT_EQ(job_of("w3"), 1);
}

TEST_F(Jobs, RefuseChecksThatCheckNothing) {
  const market::Digest secret = MarketScene::digest("secret");
  const auto checked = [&] {
    return job()
        .number("checks", 2)
        .number("check_gas", 100)
        .key("commitment", secret);
  };
  scene.expect_refused("buyer", "submit_job", checked().number("redundancy", 2),
                       "either redundancy or checks");
  scene.expect_refused("buyer", "submit_job",
                       checked().text("task", "inference"),
                       "which inference has not");
  scene.expect_refused("buyer", "submit_job", checked().number("check_gas", 0),
                       "pays for no checker");
  scene.expect_refused("buyer", "submit_job", checked().key("commitment", {}),
                       "committed to no secret");
  scene.expect_refused("buyer", "submit_job", job().number("stage", 3),
                       "without checks");
}

market::Digest secret_number(int i) {
  return MarketScene::digest("secret " + std::to_string(i));
}

market::Report of_stages(std::int64_t stages) {
  market::Report report;
  report.stages = stages;
  return report;
}

TEST(DrawnStages, AreDifferentOnesAndAllOfThemWhereThereAreNoMore) {
  const market::Report report = of_stages(7);
  for (int i = 0; i < 100; ++i) {
    const auto drawn =
        market::draw_stages({}, secret_number(i), report, /*draws=*/3);
    ASSERT_EQ(drawn.size(), 3u);
    EXPECT_TRUE(1 <= drawn[0] && drawn[0] < drawn[1] && drawn[1] < drawn[2] &&
                drawn[2] <= 7);
  }
  EXPECT_EQ(market::draw_stages({}, secret_number(0), report, 9),
            (std::vector<std::int64_t>{1, 2, 3, 4, 5, 6, 7}));
}

// If 6 of 30 stages are false and 4 are drawn, 1 - C(24, 4) / C(30, 4) = 0.6123
// are caught, within four deviations of 20,000 draws.
TEST(DrawnStages, CatchALieWithTheProbabilityOfTheSample) {
  const market::Report report = of_stages(30);
  constexpr int kTrials = 20'000;
  int caught = 0;
  std::vector<int> drawn_at(31);
  for (int i = 0; i < kTrials; ++i) {
    bool is_caught = false;
    for (const std::int64_t stage :
         market::draw_stages({}, secret_number(i), report, 4)) {
      ++drawn_at[static_cast<std::size_t>(stage)];
      is_caught = is_caught || stage % 5 == 2;
    }
    caught += is_caught ? 1 : 0;
  }
  EXPECT_NEAR(caught / double{kTrials}, 0.6123, 4 * 0.00345);
  // Each stage is as likely: 4 of 30.
  for (std::size_t stage = 1; stage <= 30; ++stage) {
    EXPECT_NEAR(drawn_at[stage] / double{kTrials}, 4.0 / 30, 4 * 0.0024)
        << stage;
  }
}

// A worker must not see what its states, or another nonce, would draw.
TEST(DrawnStages, FollowFromSecretStatesAndAssignment) {
  market::Report report = of_stages(1'000'000);
  report.nonce = secret_number(1);
  report.states = secret_number(2);
  const auto drawn = market::draw_stages({}, secret_number(3), report, 4);
  market::Report other = report;
  other.states = secret_number(4);
  EXPECT_NE(market::draw_stages({}, secret_number(3), other, 4), drawn);
  other = report;
  other.nonce = secret_number(4);
  EXPECT_NE(market::draw_stages({}, secret_number(3), other, 4), drawn);
  EXPECT_NE(market::draw_stages({}, secret_number(4), report, 4), drawn);
  EXPECT_NE(market::draw_stages(secret_number(5), secret_number(3), report, 4),
            drawn);
}

}  // namespace
}  // namespace weft::test
