// Money goes out: the treasurer pays it outside.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_cash_out(State& state, const Action& action) {
  const Amount amount = action.fields.number("amount");
  state.take(action.account, amount);
  state.money -= amount;
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_cash_out(market::TransactionRegistry& registry) {
  registry.add({.name = "cash_out",
                .summary = "take money out of the market",
                .fields = {{.name = "amount", .summary = "of money"}},
                .apply = market::apply_cash_out});
}

}  // namespace weft
