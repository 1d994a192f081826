// Somebody gives money to an association, which decides what it is spent on.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_fund(State& state, const Action& action) {
  Association& association = entry(
      state.associations, action.fields.number("association"), "association");
  const Amount amount = action.fields.number("amount");
  state.take(action.account, amount);
  association.treasury += amount;
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_fund(market::TransactionRegistry& registry) {
  registry.add({.name = "fund",
                .summary = "give money to an association's treasury",
                .fields = {{.name = "association", .summary = "its number"},
                           {.name = "amount", .summary = "of money"}},
                .apply = market::apply_fund});
}

}  // namespace weft
