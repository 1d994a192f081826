// How many transactions a second one core makes into blocks, and checks when
// they come from others: signatures, money, roots.
#include <numeric>

#include "bench/market/measure.h"

#include "weft/market/block.h"

namespace weft::market_bench {
namespace {

using market::SigningKey;
using market::Transaction;

constexpr std::int64_t kAccounts = 1000;
constexpr std::size_t kTransactionsOfBlock = 1000;

SigningKey key_number(std::int64_t i) {
  const market::Digest seed =
      market::digest_of_bytes("bench account " + std::to_string(i));
  return SigningKey(std::span<const std::uint8_t, 32>(seed));
}

market::Fields payment(const market::PublicKey& to, std::int64_t amount) {
  market::Fields fields;
  fields.set("to", to);
  fields.set("amount", amount);
  return fields;
}

std::vector<Transaction> transfers(const std::vector<SigningKey>& keys,
                                   const market::Digest& market,
                                   std::int64_t count) {
  std::vector<Transaction> made;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto from = static_cast<std::size_t>(i % kAccounts);
    const auto to = static_cast<std::size_t>((i * 7 + 1) % kAccounts);
    made.push_back(
        market::make_transaction(keys[from], market, i / kAccounts, "transfer",
                                 payment(keys[to].public_key(), 1 + i % 5)));
  }
  return made;
}

double verify_microseconds(const std::vector<Transaction>& transactions,
                           const std::vector<SigningKey>& keys) {
  const std::size_t some = std::min<std::size_t>(transactions.size(), 2000);
  const Watch watch;
  for (std::size_t i = 0; i < some; ++i) {
    WEFT_CHECK(market::is_signed(
        transactions[i],
        keys[i % static_cast<std::size_t>(kAccounts)].public_key()));
  }
  return 1e6 * watch.seconds() / static_cast<double>(some);
}

}  // namespace

Told measure_transactions(std::int64_t count) {
  std::vector<SigningKey> keys;
  for (std::int64_t i = 0; i < kAccounts; ++i) keys.push_back(key_number(i));
  const SigningKey treasurer;
  const std::string genesis =
      market::to_json({.name = "bench", .treasurer = treasurer.public_key()});
  market::State state = market::beginning_of(genesis);
  std::vector<Transaction> deposits;
  for (std::int64_t i = 0; i < kAccounts; ++i) {
    deposits.push_back(market::make_transaction(
        treasurer, state.market, i, "deposit",
        payment(keys[static_cast<std::size_t>(i)].public_key(), 1'000'000)));
  }
  state = market::draft_block(state, 1, deposits).state;
  const market::State before = state;
  const std::vector<Transaction> all = transfers(keys, state.market, count);

  std::vector<market::Block> blocks;
  const Watch making;
  for (std::size_t i = 0; i < all.size(); i += kTransactionsOfBlock) {
    const std::size_t last = std::min(i + kTransactionsOfBlock, all.size());
    market::Draft draft =
        market::draft_block(state, 2,
                            {all.begin() + static_cast<std::ptrdiff_t>(i),
                             all.begin() + static_cast<std::ptrdiff_t>(last)});
    WEFT_CHECK(draft.refused.empty(), "a transfer was refused");
    blocks.push_back(std::move(draft.block));
    state = std::move(draft.state);
  }
  const double made = making.seconds();
  std::vector<std::string> texts;
  for (const market::Block& block : blocks) {
    texts.push_back(market::to_json(block));
  }

  market::State replayed = before;
  const Watch checking;
  for (const std::string& text : texts) {
    std::vector<std::string> notes;
    market::apply_block(replayed, market::parse_block(text), notes);
  }
  const double checked = checking.seconds();
  market::Amount sum = 0;
  for (const auto& [key, account] : state.accounts) sum += account.balance;
  return {{"transactions", count},
          {"made_per_s", static_cast<double>(count) / made},
          {"checked_per_s", static_cast<double>(count) / checked},
          {"verify_us", verify_microseconds(all, keys)},
          {"conserved", sum == kAccounts * 1'000'000},
          {"same_root", replayed.root == state.root}};
}

}  // namespace weft::market_bench
