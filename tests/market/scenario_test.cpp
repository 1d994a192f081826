// The story of the market: five curators, two databases, three buyers, four
// workers, one of whom cheats; money conserved and replayed to the same root at
// every block; payment that waits for a privacy grant and the verdict of a
// gate.
#include "tests/market/scene.h"
#include "tests/support/temporary_folder.h"

#include "weft/market/market.h"

namespace weft::test {
namespace {

using market::Job;
using market::Report;

class StoryTest : public testing::Test {
 protected:
  void work_all() {
    for (const char* name : {"w1", "w2", "w3", "w4"}) {
      const std::int64_t number =
          scene.state.workers.at(MarketScene::account(name)).job;
      if (number == 0) continue;
      const Job& job = scene.state.jobs[static_cast<std::size_t>(number - 1)];
      Report report{
          .job = number,
          .measurement = job.measurement,
          .inputs = market::inputs_digest(job, contents_of(job)),
          .outputs = MarketScene::digest(fmt::format("result of {}", number)),
          .reads = job.reads_due,
          .values = {}};
      for (const auto& one : job.assignments) {
        if (one.worker == MarketScene::account(name)) report.nonce = one.nonce;
      }
      // The second worker hands in what it did not compute.
      if (name == std::string("w2")) {
        report.outputs = MarketScene::digest("noise");
      }
      scene.send(
          name, "report",
          said()
              .number("job", number)
              .key("assignment", report.nonce)
              .key("measurement", report.measurement)
              .key("inputs", report.inputs)
              .key("outputs", report.outputs)
              .text("status", "success")
              .all("reads", report.reads)
              .text("signature",
                    market::to_hex(market::sign_report(
                        key_named(std::string(name) + "'s machine"), report))));
    }
  }
  std::vector<market::Digest> contents_of(const Job& job) const {
    std::vector<market::Digest> contents;
    for (const std::int64_t shard : job.shards) {
      contents.push_back(
          scene.state.shards[static_cast<std::size_t>(shard - 1)].content);
    }
    return contents;
  }
  void offer_all() {
    for (const char* name : {"w1", "w2", "w3", "w4"}) {
      scene.send("treasurer", "deposit", deposit_of(name, 500));
      scene.send(
          name, "offer",
          said()
              .who("machine", std::string(name) + "'s machine")
              .text("certificate", market::to_hex(market::certify_machine(
                                       key_named("vendor"),
                                       MarketScene::account(std::string(name) +
                                                            "'s machine"))))
              .number("price", name == std::string("w2") ? 5 : 10)
              .number("stake", 150));
    }
  }
  SaidFields job(const std::vector<std::string>& curators,
                 std::int64_t redundancy) {
    std::vector<market::PublicKey> contents;
    std::vector<market::PublicKey> owners;
    for (const std::string& curator : curators) {
      contents.push_back(MarketScene::digest("data of " + curator));
      owners.push_back(MarketScene::account(curator));
    }
    return said()
        .text("task", "training")
        .all("contents", contents)
        .all("owners", owners)
        .number("epochs", 3)
        .digest("measurement", "program")
        .number("units_per_example", 10'000)
        .number("gas", 20'000)
        .number("seconds", 100)
        .number("patience", 1000)
        .number("redundancy", redundancy);
  }

  MarketScene scene;
};

TEST_F(StoryTest, EndsWithEverybodyPaidAndTheCheatSlashed) {
  for (const auto& [association, name] :
       {std::pair(1, "census"), std::pair(2, "clothes")}) {
    scene.send(
        "owner", "found",
        said().text("name", name).number("quorum", 10).number("debate", 60));
    decide(
        scene, "owner",
        said().text("kind", "database").text("name", name).number("price", 500),
        {"owner"}, association);
  }
  decide(scene, "owner", shard_of("c1", 60, "data of c1", 200, 1), {"owner"});
  decide(scene, "c1", shard_of("c2", 40, "data of c2", 100, 1), {"c1"});
  decide(scene, "c1", shard_of("c3", 20, "data of c3", 50, 1), {"c1", "c2"});
  decide(scene, "owner", shard_of("c4", 50, "data of c4", 300, 2), {"owner"},
         2);
  decide(scene, "c4", shard_of("c5", 50, "data of c5", 300, 2), {"c4"}, 2);
  offer_all();
  for (const char* buyer : {"b1", "b2", "b3"}) {
    scene.send("treasurer", "deposit", deposit_of(buyer, 50'000));
  }
  scene.send("b1", "submit_job", job({"c1", "c2", "c3"}, 2));
  work_all();
  work_all();
  scene.send("b2", "submit_job", job({"c4", "c5", "c1"}, 1));
  work_all();
  scene.send("b3", "submit_job",
             job({"c2", "c5"}, 1)
                 .all<std::string>("needs", {"budget/grant/third job"})
                 .all<std::string>("pays_when", {"gate/release/third model"}));
  work_all();
  EXPECT_EQ(scene.state.jobs[2].state, market::JobState::kOpen);
  scene.apply({}, {market::parse_condition("budget/grant/third job")});
  work_all();
  EXPECT_EQ(scene.state.jobs[2].state, market::JobState::kWithheld);
  scene.apply({}, {market::parse_condition("gate/release/third model")});
  for (const Job& done : scene.state.jobs) {
    EXPECT_EQ(done.state, market::JobState::kPaid) << done.outcome;
  }
  EXPECT_EQ(scene.state.workers.at(MarketScene::account("w2")).stake, 50);
  // Dividends go by shares: 60, 40 and 20 of the first association's 120. What
  // it earned: 350 examples of job 1, 200 of job 2, 100 of job 3, three times,
  // at half a unit a read.
  const market::Amount earned = 525 + 300 + 150;
  market::Amount paid = 0;
  for (const auto& [curator, shares] :
       {std::pair("c1", 60), std::pair("c2", 40), std::pair("c3", 20)}) {
    scene.send(curator, "withdraw", said().number("association", 1));
    paid += scene.balance(curator);
    EXPECT_NEAR(static_cast<double>(scene.balance(curator)),
                static_cast<double>(earned) * shares / 120.0, 1)
        << curator;
  }
  EXPECT_EQ(paid, earned);
  EXPECT_EQ(scene.state.money, 3 * 50'000 + 4 * 500);
  // From the beginning on, blocks alone give the same root.
  market::State again =
      market::beginning_of(market::to_json(MarketScene::usual()));
  std::vector<std::string> ignored;
  for (const market::Block& block : scene.blocks) {
    market::apply_block(again, block, ignored);
  }
  EXPECT_EQ(again.root, scene.state.root);
}

// Records of other books, written by whoever keeps them, in one ledger.
TEST(ConditionTest, IsARecordOfTheSameLedger) {
  const TemporaryFolder folder;
  Ledger ledger =
      Ledger::open((folder.path() / "m.db").string(), LedgerMode::kCreate);
  MarketScene scene;
  found_database(scene, 1);
  decide(scene, "owner", shard_of("anna", 5, "a"), {"owner"});
  scene.send("treasurer", "deposit", deposit_of("buyer", 100));
  scene.send(
      "buyer", "submit_job",
      said()
          .text("task", "training")
          .all<market::PublicKey>("contents", {MarketScene::digest("a")})
          .all<market::PublicKey>("owners", {MarketScene::account("anna")})
          .number("epochs", 1)
          .digest("measurement", "program")
          .number("units_per_example", 1)
          .number("gas", 50)
          .number("seconds", 100)
          .number("patience", market::kMostAmount / 2)
          .number("redundancy", 1)
          .all<std::string>("needs",
                            {"budget/grant/job 1", "budget/grant/job 2"}));
  market::Market::begin(ledger, MarketScene::usual());
  market::Market market(ledger);
  for (const market::Block& block : scene.blocks) market.append(block);
  EXPECT_TRUE(market.conditions_met().empty());
  EXPECT_EQ(market.commit({}).height, std::ssize(scene.blocks));
  ledger.transact([](LedgerWriter& writer) {
    // The key of the first one, but it says something else.
    writer.append({"budget", "refusal", "{}", "job 1"});
    writer.append({"budget", "grant", "{}", "job 2"});
  });
  EXPECT_EQ(market.conditions_met(),
            std::vector{market::parse_condition("budget/grant/job 2")});
  market.commit({});
  EXPECT_EQ(market.current().jobs[0].met.size(), 1u);
  EXPECT_EQ(market.current().jobs[0].state, market::JobState::kOpen);
  EXPECT_EQ(market::replay(ledger).root, market.current().root);
}

}  // namespace
}  // namespace weft::test
