#include "cli/market_sending.h"

#include <fmt/core.h>

#include "cli/terminal.h"

namespace weft::cli {

std::vector<market::SigningKey> validators_in(
    const std::vector<std::string>& files) {
  std::vector<market::SigningKey> keys;
  for (const std::string& file : files) {
    keys.push_back(market::SigningKey::read(file));
  }
  return keys;
}

market::Transaction next_transaction(market::Market& market,
                                     const market::SigningKey& key,
                                     const std::string& what,
                                     market::Fields fields) {
  const market::State& state = market.current();
  const auto found = state.accounts.find(key.public_key());
  return market::make_transaction(
      key, state.market,
      found == state.accounts.end() ? 0 : found->second.nonce, what,
      std::move(fields));
}

void send_alone(market::Market& market,
                const market::Transaction& transaction) {
  const market::Market::Outcome outcome = market.commit({transaction});
  if (!outcome.refused.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "market",
                "the transaction is refused")
        .detail(outcome.refused[0].why);
  }
  print_notes(outcome);
}

void print_notes(const market::Market::Outcome& outcome) {
  for (const std::string& note : outcome.notes) {
    fmt::print("{}\n", printable(note));
  }
  fmt::print("block {}\n", outcome.height);
}

}  // namespace weft::cli
