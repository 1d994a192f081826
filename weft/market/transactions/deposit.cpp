// Money comes in: the treasurer has been paid it outside.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_deposit(State& state, const Action& action) {
  if (action.account != state.genesis.treasurer) {
    throw Error(ErrorCode::kInvalidArgument, "deposit",
                "only the treasurer takes money in");
  }
  const Amount amount = action.fields.number("amount");
  // No sum of money in the market can overflow, as their sum does not.
  state.money = sum_of(state.money, amount, "the money");
  state.give(action.fields.key("to"), amount);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_deposit(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "deposit",
                .summary = "take money in for an account (the treasurer)",
                .fields = {{.name = "to",
                            .kind = FieldKind::kKey,
                            .summary = "the account that gets it"},
                           {.name = "amount", .summary = "of money"}},
                .apply = market::apply_deposit});
}

}  // namespace weft
