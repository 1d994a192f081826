// What an association decided is done, once, by whoever asks for it and repeats
// what it was.
#include "weft/market/proposals.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_execute(State& state, const Action& action) {
  Proposal& proposal =
      entry(state.proposals, action.fields.number("proposal"), "proposal");
  const auto refused = [](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument, "execute", "{}", why);
  };
  if (!proposal.tally)
    throw refused("the deadline of the proposal is not over");
  if (proposal.state == Proposal::State::kFailed) {
    throw refused("the proposal has failed");
  }
  if (proposal.state == Proposal::State::kPassed) {
    throw refused("the proposal was executed already");
  }
  if (payload_digest(action.fields) != proposal.payload) {
    throw refused("this is not what was proposed");
  }
  check_payload(state, proposal.association, action.fields);
  proposal.state = Proposal::State::kPassed;
  carry_out(state, proposal.association, action.fields, action.notes);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_execute(market::TransactionRegistry& registry) {
  std::vector<market::FieldSpec> fields{
      {.name = "proposal", .summary = "its number"}};
  fields.insert(fields.end(), market::payload_fields().begin(),
                market::payload_fields().end());
  registry.add({.name = "execute",
                .summary = "do what an association has decided",
                .fields = std::move(fields),
                .apply = market::apply_execute});
}

}  // namespace weft
