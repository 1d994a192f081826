// Jobs: who gets them, what they wait for, and who is paid.
#include "tests/market/jobs.h"

namespace weft::test {
namespace {

using market::AssignmentState;
using market::Job;
using market::JobState;
using market::JobStatus;
using market::Report;

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

}  // namespace
}  // namespace weft::test
