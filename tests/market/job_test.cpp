// Jobs: who gets them, who is paid, and what becomes of cheats.
#include "tests/market/scene.h"

namespace weft::test {
namespace {

using market::AssignmentState;
using market::Job;
using market::JobState;
using market::JobStatus;
using market::Report;

std::string certificate_of(const std::string& worker) {
  return market::to_hex(market::certify_machine(
      key_named("vendor"), MarketScene::account(worker + "'s machine")));
}

SaidFields offer_of(const std::string& worker, std::int64_t price,
                    std::int64_t stake = 100) {
  return said()
      .who("machine", worker + "'s machine")
      .text("certificate", certificate_of(worker))
      .number("price", price)
      .number("stake", stake);
}

// Two shards, of Anna (100 examples) and Ben (300), who hold as many shares; a
// thousand reads cost 1000. Workers ask 10, 20, 30 and 40 for a million units,
// and an example is 100,000 units: an example of the first costs 1.
class Jobs : public testing::Test {
 protected:
  explicit Jobs(market::Genesis genesis = MarketScene::usual())
      : scene(genesis) {
    found_database(scene, 1, 1000);
    decide(scene, "owner", shard_of("anna", 100, "a", 100), {"owner"});
    decide(scene, "anna", shard_of("ben", 300, "b", 300), {"anna"});
    scene.send("treasurer", "deposit", deposit_of("buyer", 100'000));
    std::int64_t price = 0;
    for (const char* worker : {"w1", "w2", "w3", "w4"}) {
      scene.send("treasurer", "deposit", deposit_of(worker, 1000));
      scene.send(worker, "offer", offer_of(worker, price += 10));
    }
  }

  static SaidFields job() {
    return said()
        .text("task", "training")
        .all<market::PublicKey>(
            "contents", {MarketScene::digest("a"), MarketScene::digest("b")})
        .all<market::PublicKey>("owners", {MarketScene::account("anna"),
                                           MarketScene::account("ben")})
        .number("epochs", 2)
        .digest("measurement", "program")
        .number("units_per_example", 100'000)
        .number("gas", 10'000)
        .number("seconds", 100)
        .number("patience", 1000)
        .number("redundancy", 1);
  }

  Job& at(std::int64_t number) {
    return scene.state.jobs[static_cast<std::size_t>(number - 1)];
  }
  const market::Worker& worker(const std::string& name) const {
    return scene.state.workers.at(MarketScene::account(name));
  }
  std::int64_t job_of(const std::string& name) const {
    return worker(name).job;
  }

  // What an honest enclave of that worker says of its job.
  Report honest(const std::string& name) {
    const std::int64_t number = job_of(name);
    const Job& job = at(number);
    Report report{
        .job = number,
        .measurement = job.measurement,
        .inputs = market::inputs_digest(
            job, {MarketScene::digest("a"), MarketScene::digest("b")}),
        .outputs = MarketScene::digest("the model"),
        .reads = job.reads_due,
        .values = {}};
    for (const auto& assignment : job.assignments) {
      if (assignment.worker == MarketScene::account(name)) {
        report.nonce = assignment.nonce;
      }
    }
    return report;
  }
  static SaidFields signed_by(const std::string& machine,
                              const Report& report) {
    return said()
        .number("job", report.job)
        .key("assignment", report.nonce)
        .key("measurement", report.measurement)
        .key("inputs", report.inputs)
        .key("outputs", report.outputs)
        .text("status", std::string(to_string(report.status)))
        .all("reads", report.reads)
        .all("values", report.values)
        .text("signature",
              market::to_hex(market::sign_report(key_named(machine), report)));
  }
  void report(const std::string& name, const Report& report) {
    scene.send(name, "report", signed_by(name + "'s machine", report));
  }
  market::Amount dividends(const std::string& name) {
    const market::Amount before = scene.balance(name);
    scene.send(name, "withdraw", said().number("association", 1));
    return scene.balance(name) - before;
  }

  MarketScene scene;
};

TEST_F(Jobs, GoToTheCheapestAndPayAll) {
  scene.send("buyer", "submit_job", job());
  EXPECT_EQ(job_of("w1"), 1);
  EXPECT_EQ(at(1).escrow, 10'000);
  EXPECT_EQ(at(1).reads_due, (std::vector<std::int64_t>{200, 600}));
  report("w1", honest("w1"));
  // 800 reads: 800 for the worker, 800 for the data, a twentieth for the
  // platform.
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(scene.balance("w1"), 900 + 800);
  EXPECT_EQ(scene.balance("platform"), 80);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 1680);
  EXPECT_EQ(dividends("anna"), 200);
  EXPECT_EQ(dividends("ben"), 600);
  EXPECT_EQ(worker("w1").reputation, 1);
  EXPECT_EQ(job_of("w1"), 0);
}

TEST_F(Jobs, PayWhoHeldSharesWhenTheyBegan) {
  scene.send("buyer", "submit_job", job());
  scene.send(
      "ben", "transfer_shares",
      said().number("association", 1).who("to", "dora").number("shares", 300));
  report("w1", honest("w1"));
  EXPECT_EQ(dividends("dora"), 0);
  EXPECT_EQ(dividends("ben"), 600);
}

TEST_F(Jobs, PayCuratorsIfAsked) {
  scene.send("buyer", "submit_job", job().text("pays", "curators"));
  report("w1", honest("w1"));
  EXPECT_EQ(scene.balance("anna"), 200);
  EXPECT_EQ(scene.balance("ben"), 600);
  EXPECT_EQ(dividends("ben"), 0);
}

TEST_F(Jobs, PayByValueIfAsked) {
  const SaidFields by_value =
      job().text("pays", "curators").text("pays_by", "value");
  scene.send("buyer", "submit_job", by_value);
  Report told = honest("w1");
  told.values = {3, 0};
  report("w1", told);
  EXPECT_EQ(scene.balance("anna"), 800);
  EXPECT_EQ(scene.balance("ben"), 0);
  // Where nothing is of value, sizes decide.
  scene.send("buyer", "submit_job", by_value);
  told = honest("w1");
  told.values = {0, 0};
  report("w1", told);
  EXPECT_EQ(scene.balance("anna"), 1000);
  EXPECT_EQ(scene.balance("ben"), 600);
}

TEST_F(Jobs, StopWhenTheirGasIsUsedUp) {
  scene.send("buyer", "submit_job", job().number("gas", 1000));
  // A read costs 2.1: 476 of them cost 999.
  EXPECT_EQ(at(1).most_reads, 476);
  Report whole = honest("w1");
  Report partial = whole;
  partial.status = JobStatus::kPartial;
  partial.reads = {119, 357};
  report("w1", partial);
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(at(1).outcome, "partial_success");
  EXPECT_EQ(scene.balance("w1"), 900 + 476);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 476 - 476 - 47);
}

TEST_F(Jobs, AreRefusedWhereTheyMakeNoSense) {
  const auto refused = [&](const SaidFields& fields, const std::string& why) {
    scene.expect_refused("buyer", "submit_job", fields, why);
  };
  refused(
      job().all<market::PublicKey>("owners", {MarketScene::account("anna")}),
      "2 shards and 1 owners");
  refused(job().all<market::PublicKey>(
              "contents",
              {MarketScene::digest("a"), MarketScene::digest("unknown")}),
          "there is no shard");
  refused(
      job().all<market::PublicKey>("owners", {MarketScene::account("ben"),
                                              MarketScene::account("anna")}),
      "is not the owner");
  refused(job().all<market::PublicKey>(
              "contents", {MarketScene::digest("a"), MarketScene::digest("a")}),
          "");
  refused(job().text("subset", "7-3"), "ends before it begins");
  refused(job().text("subset", "0-400"), "lies outside");
  refused(job().number("epochs", 0), "0 epochs");
  refused(job().number("gas", 0), "puts nothing down");
  refused(job().number("gas", 100'001), "less than 100001");
  refused(job().number("seconds", 0), "no time");
  refused(job().number("redundancy", 6), "from 1 to 5");
  refused(job().number("epochs", market::kMostAmount), "the reads");
  refused(job().text("task", "tryrun").number("epochs", 3),
          "a tryrun may read");
  expect_error(ErrorCode::kInvalidArgument, {"none of the choices"}, [&] {
    scene.make("buyer", "submit_job", job().text("task", "mining"));
  });
  refused(job().all<std::string>("needs", {"gate"}), "names no record");
  EXPECT_EQ(scene.balance("buyer"), 100'000);
}

TEST_F(Jobs, ReadASubset) {
  scene.send("buyer", "submit_job", job().text("subset", "5,90-109"));
  EXPECT_EQ(at(1).reads_due, (std::vector<std::int64_t>{22, 20}));
}

TEST_F(Jobs, WaitForWhatTheyNeed) {
  scene.send("buyer", "submit_job",
             job()
                 .all<std::string>("needs", {"budget/grant/job 1"})
                 .all<std::string>("pays_when", {"gate/release/model 1"}));
  EXPECT_EQ(at(1).state, JobState::kOpen);
  scene.apply({}, {market::parse_condition("budget/grant/job 1")});
  EXPECT_EQ(at(1).state, JobState::kRunning);
  report("w1", honest("w1"));
  EXPECT_EQ(at(1).state, JobState::kWithheld);
  EXPECT_EQ(scene.balance("w1"), 1700);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 1680);
  EXPECT_EQ(dividends("ben"), 0);
  scene.apply({}, {market::parse_condition("gate/release/model 1")});
  EXPECT_EQ(at(1).state, JobState::kPaid);
  EXPECT_EQ(dividends("ben"), 600);
}

TEST_F(Jobs, DoNotPayForDataThatTheGateRejects) {
  scene.send("buyer", "submit_job",
             job().all<std::string>("pays_when", {"gate/release/model 1"}));
  report("w1", honest("w1"));
  scene.wait(1001);
  EXPECT_EQ(at(1).state, JobState::kFailed);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 800);
  EXPECT_EQ(dividends("ben"), 0);
}

TEST_F(Jobs, AreCancelledByTheirPayerBeforeTheyBegin) {
  scene.send("buyer", "submit_job",
             job().all<std::string>("needs", {"budget/grant/job 1"}));
  const SaidFields cancel = said().number("job", 1);
  scene.expect_refused("w1", "cancel_job", cancel, "only its payer");
  scene.send("buyer", "cancel_job", cancel);
  EXPECT_EQ(scene.balance("buyer"), 100'000);
  scene.send("buyer", "submit_job", job());
  scene.expect_refused("buyer", "cancel_job", said().number("job", 2),
                       "is running");
}

TEST_F(Jobs, ChangeHandsWhenAWorkerIsLate) {
  scene.send("buyer", "submit_job", job());
  scene.wait(101);
  EXPECT_EQ(at(1).assignments[0].state, AssignmentState::kLate);
  EXPECT_EQ(worker("w1").stake, 0);
  EXPECT_EQ(scene.balance("buyer"), 100'000 - 10'000 + 100);
  // The next may not ask more than what the gas was counted by.
  EXPECT_EQ(at(1).most_price, 10);
  EXPECT_EQ(job_of("w2"), 0);
  scene.send("w2", "offer", offer_of("w2", 10, 0));
  EXPECT_EQ(job_of("w2"), 1);
  const Report late = [&] {
    Report report = honest("w2");
    report.nonce = at(1).assignments[0].nonce;
    return report;
  }();
  scene.expect_refused("w1", "report", signed_by("w1's machine", late),
                       "does not run job 1");
  report("w2", honest("w2"));
  EXPECT_EQ(at(1).state, JobState::kPaid);
}

TEST_F(Jobs, AreGivenUpWhenNobodyDoesThem) {
  scene.send("buyer", "submit_job", job().number("redundancy", 5));
  EXPECT_EQ(at(1).state, JobState::kOpen);
  scene.wait(1001);
  EXPECT_EQ(at(1).state, JobState::kFailed);
  EXPECT_EQ(scene.balance("buyer"), 100'000);
  scene.send("buyer", "submit_job", job().number("gas", 1));
  EXPECT_EQ(at(2).outcome, "its gas does not pay for one example");
}

TEST_F(Jobs, ThatFailCostNothing) {
  scene.send("buyer", "submit_job", job());
  Report failed = honest("w1");
  failed.status = JobStatus::kError;
  failed.reads = {0, 0};
  report("w1", failed);
  EXPECT_EQ(at(1).state, JobState::kFailed);
  EXPECT_EQ(scene.balance("buyer"), 100'000);
  EXPECT_EQ(worker("w1").stake, 100);
}

TEST_F(Jobs, PreferRepute) {
  scene.send("buyer", "submit_job", job());
  report("w1", honest("w1"));
  scene.send("w2", "offer", offer_of("w2", 10, 0));
  scene.send("buyer", "submit_job", job());
  EXPECT_EQ(job_of("w1"), 2);
  scene.send("buyer", "submit_job", job());
  EXPECT_EQ(job_of("w2"), 3);
}

TEST_F(Jobs, KeepStakeUntilTheyAreOver) {
  scene.send("buyer", "submit_job", job().number("redundancy", 2));
  scene.expect_refused("w1", "retire", {}, "runs job 1");
  report("w1", honest("w1"));
  scene.expect_refused("w1", "retire", {}, "not compared yet");
  report("w2", honest("w2"));
  scene.send("w1", "retire", {});
  EXPECT_EQ(scene.balance("w1"), 1800);
  scene.send("buyer", "submit_job", job());
  EXPECT_EQ(job_of("w1"), 0);
}

TEST_F(Jobs, NeedACertifiedMachine) {
  scene.expect_refused(
      "eve", "offer",
      offer_of("eve", 1, 0).text("certificate", certificate_of("w1")),
      "vouches");
  scene.expect_refused("eve", "offer", offer_of("w1", 1, 0),
                       "another worker's");
}

TEST_F(Jobs, KeepTheirPriceOfData) {
  scene.send("buyer", "submit_job", job());
  const SaidFields dearer = said().number("database", 1).number("price", 5000);
  scene.expect_refused("owner", "price", dearer, "at the old one");
  report("w1", honest("w1"));
  scene.expect_refused("anna", "price", dearer, "only the association's owner");
  scene.send("owner", "price", dearer);
}

class SecondPrice : public Jobs {
 protected:
  SecondPrice()
      : Jobs([] {
          market::Genesis genesis = MarketScene::usual();
          genesis.pays_second_price = true;
          return genesis;
        }()) {}
};

TEST_F(SecondPrice, IsThatOfTheNextWorker) {
  scene.send("buyer", "submit_job", job().number("redundancy", 2));
  EXPECT_EQ(at(1).assignments[0].price, 30);
  EXPECT_EQ(at(1).assignments[1].price, 30);
}

// --- Cheats ---

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
              [](Report& r) { r.measurement = MarketScene::digest("hack"); },
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
