// Money of one account becomes another's.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_transfer(State& state, const Action& action) {
  const Amount amount = action.fields.number("amount");
  state.take(action.account, amount);
  state.give(action.fields.key("to"), amount);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_transfer(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "transfer",
                .summary = "give money to another account",
                .fields = {{.name = "to",
                            .kind = FieldKind::kKey,
                            .summary = "the account that gets it"},
                           {.name = "amount", .summary = "of money"}},
                .apply = market::apply_transfer});
}

}  // namespace weft
