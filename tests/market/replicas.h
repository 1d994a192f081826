// Ranks that may keep one market, each with a ledger of its own.
#pragma once

#include "tests/market/scene.h"
#include "tests/support/temporary_folder.h"

#include "weft/market/replica.h"

namespace weft::test {

// Five validators and a stranger, each with a ledger in a folder.
class Replicas : public testing::Test {
 protected:
  static constexpr int kStranger = 9;  // has a ledger, and is no validator
  static market::SigningKey validator(int i) {
    return key_named("validator " + std::to_string(i));
  }
  Replicas() {
    genesis_ = MarketScene::usual();
    for (int i = 0; i < 5; ++i) {
      genesis_.validators.push_back(validator(i).public_key());
    }
    for (const int i : {0, 1, 2, 3, 4, kStranger}) {
      Ledger ledger = open(i);
      market::Market::begin(ledger, genesis_);
    }
  }
  Ledger open(int i) {
    return Ledger::open((folder_.path() / fmt::format("{}.db", i)).string(),
                        LedgerMode::kCreate);
  }
  market::Transaction deposit(std::int64_t nonce,
                              const std::string& to = "anna") {
    return market::make_transaction(
        key_named("treasurer"), market::market_of(market::to_json(genesis_)),
        nonce, "deposit", deposit_of(to, 10));
  }
  std::string root_at(int i) {
    Ledger ledger = open(i);
    const market::State state = market::Market(ledger).current();
    return fmt::format("{} {}", state.height, market::to_hex(state.root));
  }
  market::Amount balance_at(int i, const std::string& who) {
    Ledger ledger = open(i);
    return market::Market(ledger).current().balance_of(
        MarketScene::account(who));
  }

  TemporaryFolder folder_;
  market::Genesis genesis_;
};

}  // namespace weft::test
