// An association begins. Its founder gets as many symbolic shares as make a
// quorum, to vote for the first shard with.
#include <algorithm>

#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_found(State& state, const Action& action) {
  Association association;
  association.name = action.fields.text("name");
  association.owner = action.account;
  const std::int64_t quorum =
      std::max<std::int64_t>(1, action.fields.number("quorum"));
  association.rules = {.quorum = quorum,
                       .debate = action.fields.number("debate"),
                       .least_to_propose = quorum};
  association.symbolic = quorum;
  association.mint(action.account, quorum);
  state.associations.push_back(std::move(association));
  action.notes.push_back(
      fmt::format("association {} is there", state.associations.size()));
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_found(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add(
      {.name = "found",
       .summary = "found an association that owns databases",
       .fields = {{.name = "name",
                   .kind = FieldKind::kText,
                   .summary = "of the association"},
                  {.name = "quorum",
                   .summary = "shares that must vote for a decision; 0 is 1"},
                  {.name = "debate",
                   .summary = "seconds from a proposal to its tally"}},
       .apply = market::apply_found});
}

}  // namespace weft
