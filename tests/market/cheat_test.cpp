// What becomes of workers that cheat.
#include "tests/market/jobs.h"

namespace weft::test {
namespace {

using market::AssignmentState;
using market::JobState;
using market::JobStatus;
using market::Report;

struct Cheat {
  const char* name;
  void (*make)(Report& report);
  const char* caught;
};

class Cheats : public Jobs, public testing::WithParamInterface<Cheat> {};

TEST_P(Cheats, AreCaughtAndSlashed) {
  scene.send("buyer", "submit_job", job());
  Report false_report = honest("w1");
  GetParam().make(false_report);
  report("w1", false_report);
  EXPECT_TRUE(scene.noted(GetParam().caught)) << scene.notes.back();
  EXPECT_EQ(at(1).assignments[0].state, AssignmentState::kRefuted);
  EXPECT_EQ(worker("w1").stake, 0);
  EXPECT_EQ(worker("w1").reputation, -5);
  EXPECT_EQ(scene.balance("w1"), 900);
  // The job waits for another, and its payer has the stake.
  EXPECT_EQ(scene.balance("buyer"), 90'100);
  scene.send("w2", "offer", offer_of("w2", 10, 0));
  report("w2", honest("w2"));
  EXPECT_EQ(at(1).state, JobState::kPaid);
}

INSTANTIATE_TEST_SUITE_P(
    All, Cheats,
    testing::Values(
        Cheat{"SkippedEpoch",
              [](Report& r) {
                r.reads = {100, 300};
              },
              "it read less than the job asks for"},
        Cheat{"SkippedEpochAsPartial",
              [](Report& r) {
                r.reads = {100, 300};
                r.status = JobStatus::kPartial;
              },
              "the gas pays all of the job"},
        Cheat{"InflatedUsage", [](Report& r) { r.reads[1] += 1; },
              "it counts more reads than the job has"},
        Cheat{"WrongMeasurement",
              [](Report& r) {
                r.measurement = MarketScene::digest("another program");
              },
              "another program ran"},
        Cheat{"StaleNonce",
              [](Report& r) { r.nonce = MarketScene::digest("yesterday"); },
              "its nonce is of another job"},
        Cheat{"OtherInputs",
              [](Report& r) { r.inputs = MarketScene::digest("easy data"); },
              "it read other inputs"},
        Cheat{"Truncated", [](Report& r) { r.reads.pop_back(); },
              "does not count the reads of each shard"},
        Cheat{"CountedError", [](Report& r) { r.status = JobStatus::kError; },
              "it counts reads of a job that failed"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(Jobs, CatchOutputsThatWereSwappedAfterSigning) {
  scene.send("buyer", "submit_job", job());
  SaidFields swapped = signed_by("w1's machine", honest("w1"));
  scene.send("w1", "report", swapped.digest("outputs", "another model"));
  EXPECT_TRUE(scene.noted("not signed by the worker's machine"));
  EXPECT_EQ(worker("w1").stake, 0);
}

TEST_F(Jobs, CatchACutSignatureAndAnotherKey) {
  scene.send("buyer", "submit_job", job());
  SaidFields cut = signed_by("w1's machine", honest("w1"));
  scene.send("w1", "report", cut.text("signature", "00ff"));
  EXPECT_TRUE(scene.noted("its signature is cut"));
  scene.send("w2", "offer", offer_of("w2", 10, 0));
  scene.send("w2", "report", signed_by("w2", honest("w2")));
  EXPECT_TRUE(scene.noted("not signed by the worker's machine"));
}

TEST_F(Jobs, CatchAReportThatIsReplayed) {
  scene.send("buyer", "submit_job", job());
  const Report first = honest("w1");
  report("w1", first);
  scene.send("buyer", "submit_job", job());
  Report replayed = first;
  replayed.job = 2;
  report("w1", replayed);
  EXPECT_TRUE(scene.noted("its nonce is of another job"));
  EXPECT_EQ(worker("w1").stake, 0);
}

TEST_F(Jobs, LetAThirdWorkerDecideWhereTwoDiffer) {
  for (const char* name : {"w2", "w3"}) {
    scene.send(name, "offer", offer_of(name, 10, 0));
  }
  scene.send("buyer", "submit_job", job().number("redundancy", 2));
  std::vector<std::string> chosen;
  for (const char* name : {"w1", "w2", "w3"}) {
    if (job_of(name) == 1) chosen.push_back(name);
  }
  ASSERT_EQ(chosen.size(), 2u);
  Report altered = honest(chosen[0]);
  altered.outputs = MarketScene::digest("a cheaper model");
  report(chosen[0], altered);
  report(chosen[1], honest(chosen[1]));
  EXPECT_TRUE(scene.noted("one more worker decides"));
  for (const char* name : {"w1", "w2", "w3"}) {
    if (job_of(name) == 1) report(name, honest(name));
  }
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(worker(chosen[0]).stake, 0);
  EXPECT_EQ(scene.balance(chosen[0]), 900);
  EXPECT_EQ(worker(chosen[1]).stake, 100);
  EXPECT_EQ(scene.balance(chosen[1]), 900 + 800);
  EXPECT_EQ(at(1).result->outputs, MarketScene::digest("the model"));
}

TEST_F(Jobs, PayNobodyWhereAllDiffer) {
  for (const char* name : {"w2", "w3", "w4"}) {
    scene.send(name, "offer", offer_of(name, 10, 0));
  }
  scene.send("buyer", "submit_job", job().number("redundancy", 2));
  for (int round = 0; round < 2; ++round) {
    for (const char* name : {"w1", "w2", "w3", "w4"}) {
      if (job_of(name) != 1) continue;
      Report own = honest(name);
      own.outputs = MarketScene::digest(name);
      report(name, own);
    }
  }
  EXPECT_EQ(at(1).state, JobState::kFailed);
  EXPECT_EQ(at(1).outcome, "its workers do not agree");
  EXPECT_EQ(scene.balance("buyer"), 100'000);
}

}  // namespace
}  // namespace weft::test
