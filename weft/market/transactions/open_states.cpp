// A worker says where the states are that its checker needs.
#include "weft/market/checking.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

void apply_open_states(State& state, const Action& action) {
  const Fields& fields = action.fields;
  Job& job = entry(state.jobs, fields.number("job"), "job");
  const auto refused = [](std::string_view why) {
    return Error(ErrorCode::kInvalidArgument, "open_states", "{}", why);
  };
  Checker* checker = running_checker(job);
  if (checker == nullptr) throw refused("nobody checks the job");
  if (checked_assignment(job).worker != action.account) {
    throw refused("only the worker whose report is checked opens its states");
  }
  if (!checker->evidence.empty()) throw refused("they are open already");
  if (fields.keys("evidence").empty()) throw refused("it names no file");
  checker->evidence = fields.keys("evidence");
  checker->opened = state.time;
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_open_states(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "open_states",
                .summary = "hand states to the checker of a job (its worker)",
                .fields = {{.name = "job", .summary = "its number"},
                           {.name = "evidence",
                            .kind = FieldKind::kKeys,
                            .summary = "digests of the files in the store"}},
                .apply = market::apply_open_states});
}

}  // namespace weft
