// Somebody proposes what an association should do. Only a digest of it is kept;
// the transaction itself is in the ledger for all to read.
#include "weft/market/proposals.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_propose(State& state, const Action& action) {
  const std::int64_t number = action.fields.number("association");
  const Association& association =
      entry(state.associations, number, "association");
  const Amount held = association.shares_of(action.account);
  if (held < association.rules.least_to_propose) {
    throw Error(ErrorCode::kInvalidArgument, "propose",
                "{} shares are held, and {} are needed to propose", held,
                association.rules.least_to_propose);
  }
  check_payload(state, number, action.fields);
  const std::int64_t deadline =
      sum_of(state.time, association.rules.debate, "the deadline");
  state.proposals.push_back({.association = number,
                             .proposer = action.account,
                             .kind = proposal_kind(action.fields),
                             .payload = payload_digest(action.fields),
                             .deadline = deadline});
  state.live_proposals.insert(std::ssize(state.proposals));
  action.notes.push_back(
      fmt::format("proposal {} is there", state.proposals.size()));
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_propose(market::TransactionRegistry& registry) {
  std::vector<market::FieldSpec> fields{
      {.name = "association", .summary = "its number"}};
  fields.insert(fields.end(), market::payload_fields().begin(),
                market::payload_fields().end());
  registry.add({.name = "propose",
                .summary = "propose what an association should do",
                .fields = std::move(fields),
                .apply = market::apply_propose});
}

}  // namespace weft
