// A holder of shares, present or past, takes the dividends that are due.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_withdraw(State& state, const Action& action) {
  Association& association = entry(
      state.associations, action.fields.number("association"), "association");
  association.settle();
  const auto found = association.owed.find(action.account);
  const Amount due = found == association.owed.end() ? 0 : found->second;
  if (found != association.owed.end()) association.owed.erase(found);
  state.give(action.account, due);
  action.notes.push_back(
      fmt::format("{} withdraws {}", short_name(action.account), due));
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_withdraw(market::TransactionRegistry& registry) {
  registry.add({.name = "withdraw",
                .summary = "take the dividends that are due to one",
                .fields = {{.name = "association", .summary = "its number"}},
                .apply = market::apply_withdraw});
}

}  // namespace weft
