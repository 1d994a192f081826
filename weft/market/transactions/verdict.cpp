// A checker hands in what its enclave found of another's training. One that no
// enclave of the job's program has signed costs the checker stake.
#include "weft/market/checking.h"
#include "weft/market/settlement.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

std::optional<std::string> fault_of(const State& state, const Job& job,
                                    const Checker& checker,
                                    const Fields& fields) {
  const Verdict verdict{.job = fields.number("job"),
                        .nonce = fields.key("assignment"),
                        .measurement = fields.key("measurement"),
                        .states = fields.key("states"),
                        .holds = fields.flag("holds")};
  Signature signature{};
  if (!from_hex(fields.text("signature"), signature)) {
    return "its signature is cut";
  }
  if (!is_signed(verdict, signature,
                 state.workers.at(checker.assignment.worker).machine)) {
    return "it is not signed by the checker's machine";
  }
  if (verdict.nonce != checker.assignment.nonce) {
    return "its nonce is of another check";
  }
  if (verdict.measurement != job.measurement) {
    return "another program checked than the job asks for";
  }
  if (verdict.states != checked_assignment(job).report->states) {
    return "it is of other states";
  }
  return std::nullopt;
}

void apply_verdict(State& state, const Action& action) {
  const Fields& fields = action.fields;
  const std::int64_t number = fields.number("job");
  Job& job = entry(state.jobs, number, "job");
  Checker* checker = running_checker(job);
  if (checker == nullptr || checker->assignment.worker != action.account) {
    throw Error(ErrorCode::kInvalidArgument, "verdict",
                "{} does not check job {}", short_name(action.account), number);
  }
  if (checker->evidence.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "verdict",
                "the states are not open yet, and nobody can have checked");
  }
  if (const auto why = fault_of(state, job, *checker, fields)) {
    slash(state, number, checker->assignment, AssignmentState::kRefuted);
    action.notes.push_back(
        fmt::format("{} is slashed for its verdict on job {}: {}",
                    short_name(action.account), number, *why));
    return;
  }
  take_verdict(state, number, fields.flag("holds"), action.notes);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_verdict(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "verdict",
                .summary = "say whether stages of a training hold (a checker)",
                .fields = {{.name = "job", .summary = "its number"},
                           {.name = "assignment",
                            .kind = FieldKind::kKey,
                            .summary = "its nonce"},
                           {.name = "measurement",
                            .kind = FieldKind::kKey,
                            .summary = "of the program that checked"},
                           {.name = "states",
                            .kind = FieldKind::kKey,
                            .summary = "that were checked"},
                           {.name = "holds",
                            .kind = FieldKind::kFlag,
                            .summary = "or not"},
                           {.name = "signature",
                            .kind = FieldKind::kText,
                            .summary = "of the machine"}},
                .apply = market::apply_verdict});
}

}  // namespace weft
