// Who pays for a job tells the secret by which stages of it are drawn, once its
// report is there.
#include "weft/market/challenge.h"
#include "weft/market/checking.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_reveal(State& state, const Action& action) {
  const std::int64_t number = action.fields.number("job");
  const Digest& secret = action.fields.key("secret");
  Job& job = entry(state.jobs, number, "job");
  const auto refused = [](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument, "reveal", "{}", why);
  };
  if (job.payer != action.account) {
    throw refused("only its payer knows the secret of a job");
  }
  if (job.state != JobState::kChecking || !job.checking.drawn.empty()) {
    throw refused(
        "no report waits for its stages to be drawn: a secret that "
        "is told before would tell the worker which they are");
  }
  if (commitment_to(secret) != job.checking.commitment) {
    throw refused("the job is committed to another secret");
  }
  // The next report is drawn from by the secret that this one commits to.
  job.checking.commitment = secret;
  draw(state, number, secret, action.notes);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_reveal(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "reveal",
                .summary = "draw the stages that are checked (the job's payer)",
                .fields = {{.name = "job", .summary = "its number"},
                           {.name = "secret",
                            .kind = FieldKind::kKey,
                            .summary = "as weft market reveal finds it"}},
                .apply = market::apply_reveal});
}

}  // namespace weft
