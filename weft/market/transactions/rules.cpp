// The owner of an association changes by what rules it decides.
#include <algorithm>

#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_rules(State& state, const Action& action) {
  Association& association = entry(
      state.associations, action.fields.number("association"), "association");
  if (association.owner != action.account) {
    throw Error(ErrorCode::kInvalidArgument, "rules",
                "only the association's owner may change them");
  }
  association.rules = {
      .quorum = std::max<std::int64_t>(1, action.fields.number("quorum")),
      .debate = action.fields.number("debate"),
      .least_to_propose = action.fields.number("least_to_propose")};
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_rules(market::TransactionRegistry& registry) {
  registry.add(
      {.name = "rules",
       .summary = "change the rules of an association (its owner)",
       .fields = {{.name = "association", .summary = "its number"},
                  {.name = "quorum",
                   .summary = "shares that must vote for a decision; 0 is 1"},
                  {.name = "debate",
                   .summary = "seconds from a proposal to its tally"},
                  {.name = "least_to_propose",
                   .summary = "shares that one must hold to propose"}},
       .apply = market::apply_rules});
}

}  // namespace weft
