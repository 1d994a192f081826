// Somebody approves or rejects a proposal, once. What the vote weighs is told
// at the deadline.
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_vote(State& state, const Action& action) {
  Proposal& proposal =
      entry(state.proposals, action.fields.number("proposal"), "proposal");
  if (proposal.tally || state.time >= proposal.deadline) {
    throw Error(ErrorCode::kInvalidArgument, "vote",
                "the votes on this proposal were told already");
  }
  if (entry(state.associations, proposal.association, "association")
          .shares_of(action.account) == 0) {
    throw Error(ErrorCode::kInvalidArgument, "vote",
                "{} holds no share of the association",
                short_name(action.account));
  }
  if (proposal.votes.contains(action.account)) {
    throw Error(ErrorCode::kInvalidArgument, "vote", "{} has voted already",
                short_name(action.account));
  }
  proposal.votes[action.account] = action.fields.flag("approve");
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_vote(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "vote",
                .summary = "approve or reject a proposal",
                .fields = {{.name = "proposal", .summary = "its number"},
                           {.name = "approve",
                            .kind = FieldKind::kFlag,
                            .summary = "or reject"}},
                .apply = market::apply_vote});
}

}  // namespace weft
