// Several ranks that keep one market: what they agree on, and what they refuse.
#include "weft/market/replica.h"

#include "tests/market/replicas.h"

#include "weft/comm/transport/thread.h"
#include "weft/market/rank_exchange.h"

namespace weft::test {
namespace {

using market::Market;
using market::Replica;
using market::Transaction;

TEST(EnvelopeTest, IsGoodForItsPlaceAlone) {
  const market::SigningKey anna;
  const market::SigningKey eve;
  const market::Place place{MarketScene::digest("today"), 7, "signature"};
  const std::string envelope = market::seal_envelope(anna, place, "yes");
  EXPECT_EQ(market::open_envelope(anna.public_key(), place, envelope), "yes");
  const auto refused = [&](const market::PublicKey& from,
                           const market::Place& where,
                           const std::string& what) {
    expect_error(ErrorCode::kInvalidArgument, {"kept from before"},
                 [&] { market::open_envelope(from, where, what); });
  };
  refused(eve.public_key(), place, envelope);
  // Replayed in a later step, another phase or another conversation.
  refused(anna.public_key(), {place.conversation, 8, place.phase}, envelope);
  refused(anna.public_key(), {place.conversation, 7, "status"}, envelope);
  refused(anna.public_key(), {MarketScene::digest("tomorrow"), 7, "signature"},
          envelope);
  refused(anna.public_key(), place, envelope + "!");
  refused(anna.public_key(), place, envelope.substr(0, 100));
  refused(anna.public_key(), place, "");
}

// Ranks of threads.
class ReplicaTest : public Replicas {
 protected:
  // Runs those validators, rank by rank, for so many rounds.
  void run(const std::vector<int>& validators, int rounds,
           const std::function<void(int, Market&)>& before = {}) {
    ThreadWorld world(static_cast<int>(validators.size()));
    world.run([&](Transport& transport) {
      const int which = validators[static_cast<std::size_t>(transport.rank())];
      Ledger ledger = open(which);
      Market market(ledger);
      Engine engine(transport, {.timeout = 30});
      Communicator all(transport);
      const market::SigningKey key = validator(which);
      market::RankExchange ranks(engine, all);
      Replica replica(market, key, ranks, [](const std::string&) {});
      for (int i = 0; i < rounds; ++i) {
        if (before) before(which, market);
        replica.step();
      }
    });
  }
};

TEST_F(ReplicaTest, AgreeWhereverTransactionsArrive) {
  for (int i = 0; i < 4; ++i) {
    Ledger ledger = open(i);
    market::add_to_pool(ledger, deposit(i));
  }
  run({0, 1, 2, 3, 4}, 6);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(root_at(i), root_at(0));
  EXPECT_EQ(balance_at(4, "anna"), 40);
}

TEST_F(ReplicaTest, GoOnWithAMajorityAndTeachWhoWasAway) {
  Ledger first = open(0);
  market::add_to_pool(first, deposit(0));
  run({0, 1, 2}, 4);
  market::add_to_pool(first, deposit(1));
  run({0, 1, 2}, 4);
  EXPECT_NE(root_at(4), root_at(0));
  market::add_to_pool(first, deposit(2));
  run({4, 3, 0, 1, 2}, 6);
  for (int i = 1; i < 5; ++i) EXPECT_EQ(root_at(i), root_at(0));
  EXPECT_EQ(balance_at(4, "anna"), 30);
}

TEST_F(ReplicaTest, StopWithoutAMajority) {
  expect_error(ErrorCode::kUnavailable,
               {"2 of 5 validators are here, and 3 are a majority"}, [&] {
                 run({0, 1}, 1);
               });
  EXPECT_EQ(root_at(0), root_at(4));
}

TEST_F(ReplicaTest, RefuseStrangersAndTwins) {
  expect_error(ErrorCode::kInvalidArgument, {"no validator of this market"},
               [&] {
                 run({0, 1, 2, kStranger}, 1);
               });
  expect_error(ErrorCode::kInvalidArgument, {"another rank already"}, [&] {
    run({0, 1, 1}, 1);
  });
}

TEST_F(ReplicaTest, StopWhereAMajorityRefuses) {
  const auto payment = [&](std::int64_t nonce) {
    return market::make_transaction(
        key_named("buyer"), market::market_of(market::to_json(genesis_)), nonce,
        "transfer", said().who("to", "anna").number("amount", 1));
  };
  Ledger first = open(0);
  market::add_to_pool(first, deposit(0, "buyer"));
  market::add_to_pool(first, payment(0));
  run({0, 1, 2}, 5);
  EXPECT_EQ(balance_at(2, "anna"), 1);
  // Two of three have another state: they were tampered with.
  for (const int i : {1, 2}) {
    Ledger ledger = open(i);
    Market market(ledger, {validator(0), validator(1), validator(2)});
    market.commit({market::make_transaction(
        key_named("treasurer"), market.current().market, 1, "deposit",
        deposit_of("mallory", 1))});
  }
  Ledger ledger = open(0);
  Market market(ledger, {validator(0), validator(3), validator(4)});
  market.commit(
      {market::make_transaction(key_named("treasurer"), market.current().market,
                                1, "deposit", deposit_of("anna", 1))});
  market::add_to_pool(first, payment(1));
  expect_error(ErrorCode::kUnavailable, {"a majority is lost"}, [&] {
    run({0, 1, 2}, 20);
  });
}

TEST_F(ReplicaTest, FinishABlockThatAMajorityMayHaveSigned) {
  // Three have signed a block and crashed before anybody heard of it: what is
  // made next at its height must be this block, though other transactions wait.
  Ledger zero = open(0);
  market::Block block =
      market::draft_block(Market(zero).current(), 1000, {deposit(0, "first")})
          .block;
  block.round = 3;
  for (const int i : {2, 3, 4}) {
    Ledger ledger = open(i);
    ledger.transact([&](LedgerWriter& writer) {
      writer.append(
          {"market votes", "signed", market::to_json(block), "block 1 1"});
    });
  }
  market::add_to_pool(zero, deposit(0, "second"));
  run({0, 1, 2}, 6);
  EXPECT_EQ(balance_at(0, "first"), 10);
  EXPECT_EQ(balance_at(0, "second"), 0);
}

}  // namespace
}  // namespace weft::test
