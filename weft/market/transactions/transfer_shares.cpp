// Shares of one account become another's; dividends up to now stay the giver's.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_transfer_shares(State& state, const Action& action) {
  entry(state.associations, action.fields.number("association"), "association")
      .transfer(action.account, action.fields.key("to"),
                action.fields.number("shares"));
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_transfer_shares(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "transfer_shares",
                .summary = "give shares of an association to another account",
                .fields = {{.name = "association", .summary = "its number"},
                           {.name = "to",
                            .kind = FieldKind::kKey,
                            .summary = "the account that gets them"},
                           {.name = "shares", .summary = "how many"}},
                .apply = market::apply_transfer_shares});
}

}  // namespace weft
