// Who asked for a job that nobody has begun yet takes the money back.
#include "weft/market/settlement.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_cancel_job(State& state, const Action& action) {
  const std::int64_t number = action.fields.number("job");
  const Job& job = entry(state.jobs, number, "job");
  if (job.payer != action.account) {
    throw Error(ErrorCode::kInvalidArgument, "cancel_job",
                "only its payer may cancel a job");
  }
  if (job.state != JobState::kOpen) {
    throw Error(ErrorCode::kInvalidArgument, "cancel_job",
                "the job is {}, and only an open one is cancelled",
                to_string(job.state));
  }
  give_up(state, number, "cancelled", action.notes);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_cancel_job(market::TransactionRegistry& registry) {
  registry.add({.name = "cancel_job",
                .summary = "take back a job that nobody has begun",
                .fields = {{.name = "job", .summary = "its number"}},
                .apply = market::apply_cancel_job});
}

}  // namespace weft
