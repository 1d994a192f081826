// Clocks that jump, and what a market makes of it: what was told stays told,
// money stays what it was, and one clock among several decides nothing.
#include "tests/market/replicas.h"
#include "tests/support/clock_jump.h"

#include "weft/comm/transport/thread.h"
#include "weft/market/rank_exchange.h"

namespace weft::test {
namespace {

using market::Market;
using market::Proposal;
using std::chrono::hours;

std::int64_t seconds_now() { return ledger_clock() / 1'000'000; }

class MarketClock : public testing::Test {
 protected:
  MarketClock() : ledger_(open()) {
    Market::begin(ledger_, MarketScene::usual());
    market_.emplace(ledger_);
  }

  Ledger open() {
    return Ledger::open((folder_ / "m.db").string(), LedgerMode::kCreate);
  }
  // Empty if it was taken.
  std::string send(const std::string& who, std::string_view what,
                   const market::Fields& fields) {
    const auto& accounts = market_->current().accounts;
    const auto found = accounts.find(MarketScene::account(who));
    const auto outcome = market_->commit({market::make_transaction(
        key_named(who), market_->current().market,
        found == accounts.end() ? 0 : found->second.nonce, what, fields)});
    return outcome.refused.empty() ? "" : outcome.refused[0].why;
  }
  const Proposal& proposal(std::size_t number) {
    return market_->current().proposals.at(number - 1);
  }

  TemporaryFolder folder_;
  Ledger ledger_;
  std::optional<Market> market_;
};

TEST_F(MarketClock, TellsAVoteOnce) {
  EXPECT_EQ(send("treasurer", "deposit", deposit_of("anna", 10)), "");
  EXPECT_EQ(send("owner", "found",
                 said()
                     .text("name", "people")
                     .number("quorum", 100)
                     .number("debate", 3600)),
            "");
  SaidFields payload =
      said().text("kind", "database").text("name", "census").number("price", 1);
  SaidFields proposed = payload;
  EXPECT_EQ(send("owner", "propose", proposed.number("association", 1)), "");
  {
    // Nobody has voted by the time that the clock shows.
    const ClockJump ahead(hours(2));
    EXPECT_EQ(send("treasurer", "deposit", deposit_of("anna", 10)), "");
  }
  ASSERT_TRUE(proposal(1).tally);
  EXPECT_EQ(proposal(1).state, Proposal::State::kFailed);
  for (const hours by : {hours(0), hours(-24)}) {
    const ClockJump back(by);
    const std::int64_t before = market_->current().time;
    EXPECT_NE(send("owner", "vote", vote_of(1, true)), "");
    SaidFields executed = payload;
    EXPECT_NE(send("owner", "execute", executed.number("proposal", 1)), "");
    EXPECT_EQ(send("treasurer", "deposit", deposit_of("anna", 10)), "");
    EXPECT_EQ(market_->current().time, before);
  }
  EXPECT_EQ(market_->current().balance_of(MarketScene::account("anna")), 40);
  Ledger again = open();
  EXPECT_EQ(market::replay(again).root, market_->current().root);
}

// Each rank has a clock of its own: one is an hour ahead and one behind.
class ReplicaClock : public Replicas {
 protected:
  void run(int rounds, const std::vector<hours>& clocks) {
    ThreadWorld world(static_cast<int>(clocks.size()));
    world.run([&](Transport& transport) {
      const int rank = transport.rank();
      set_thread_clock_ahead(clocks[static_cast<std::size_t>(rank)]);
      Ledger ledger = open(rank);
      Market market(ledger);
      Engine engine(transport, {.timeout = 30});
      Communicator all(transport);
      const market::SigningKey key = validator(rank);
      market::RankExchange ranks(engine, all);
      market::Replica replica(market, key, ranks, [](const std::string&) {});
      for (int i = 0; i < rounds; ++i) {
        market::add_to_pool(ledger, deposit(i));
        replica.step();
      }
    });
  }
};

TEST_F(ReplicaClock, GoesByTheMiddleOne) {
  const std::int64_t before = seconds_now();
  run(12, {hours(1), hours(0), hours(-1), hours(0), hours(0)});
  for (int i = 1; i < 5; ++i) EXPECT_EQ(root_at(i), root_at(0));
  EXPECT_GE(balance_at(0, "anna"), 100);
  Ledger ledger = open(0);
  const std::int64_t time = Market(ledger).current().time;
  EXPECT_GE(time, before);
  EXPECT_LE(time, seconds_now());
}

}  // namespace
}  // namespace weft::test
