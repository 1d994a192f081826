// A worker hands in what its enclave says of a job. A false report is taken,
// too: it costs the worker stake, and the job goes to another.
#include "weft/market/settlement.h"
#include "weft/market/transaction_def.h"

namespace weft::market {
namespace {

Report report_from(const Fields& fields) {
  Report report{.job = fields.number("job"),
                .nonce = fields.key("assignment"),
                .measurement = fields.key("measurement"),
                .inputs = fields.key("inputs"),
                .outputs = fields.key("outputs"),
                .reads = fields.numbers("reads"),
                .values = fields.numbers("values"),
                .stages = fields.number("stages"),
                .states = fields.key("states")};
  const std::string& status = fields.text("status");
  report.status = status == "success" ? JobStatus::kSuccess
                  : status == "error" ? JobStatus::kError
                                      : JobStatus::kPartial;
  return report;
}

Assignment& assignment_of(Job& job, std::int64_t number,
                          const PublicKey& worker) {
  for (Assignment& assignment : job.assignments) {
    if (assignment.worker == worker &&
        assignment.state == AssignmentState::kRunning) {
      return assignment;
    }
  }
  throw Error(ErrorCode::kInvalidArgument, "report", "{} does not run job {}",
              short_name(worker), number);
}

void apply_report(State& state, const Action& action) {
  const Fields& fields = action.fields;
  const std::int64_t number = fields.number("job");
  Job& job = entry(state.jobs, number, "job");
  Assignment& assignment = assignment_of(job, number, action.account);
  const Report report = report_from(fields);
  Signature signature{};
  const bool is_whole = from_hex(fields.text("signature"), signature);
  const auto why = is_whole
                       ? refutation(state, job, assignment, report, signature)
                       : std::optional<std::string>("its signature is cut");
  if (why) {
    slash(state, number, assignment, AssignmentState::kRefuted);
    action.notes.push_back(
        fmt::format("{} is slashed for its report on job "
                    "{}: {}",
                    short_name(action.account), number, *why));
    return;
  }
  assignment.state = AssignmentState::kReported;
  assignment.report = report;
  state.workers.at(action.account).job = 0;
  compare_reports(state, number, action.notes);
}

}  // namespace
}  // namespace weft::market

namespace weft {

void register_market_report(market::TransactionRegistry& registry) {
  using market::FieldKind;
  registry.add({.name = "report",
                .summary = "hand in what an enclave says of a job (its worker)",
                .fields = {{.name = "job", .summary = "its number"},
                           {.name = "assignment",
                            .kind = FieldKind::kKey,
                            .summary = "its nonce"},
                           {.name = "measurement",
                            .kind = FieldKind::kKey,
                            .summary = "of the program that ran"},
                           {.name = "inputs",
                            .kind = FieldKind::kKey,
                            .summary = "digest of what was read"},
                           {.name = "outputs",
                            .kind = FieldKind::kKey,
                            .summary = "digest of what was made"},
                           {.name = "status",
                            .kind = FieldKind::kText,
                            .summary = "how it went",
                            .choices = {"success", "partial_success", "error"}},
                           {.name = "reads",
                            .kind = FieldKind::kNumbers,
                            .summary = "of examples of each shard"},
                           {.name = "values",
                            .kind = FieldKind::kNumbers,
                            .summary = "of each shard, in millionths",
                            .is_optional = true},
                           {.name = "stages",
                            .summary = "of the training, where they may be "
                                       "checked",
                            .is_optional = true},
                           {.name = "states",
                            .kind = FieldKind::kKey,
                            .summary = "digest of the states behind them",
                            .is_optional = true},
                           {.name = "signature",
                            .kind = FieldKind::kText,
                            .summary = "of the machine"}},
                .apply = market::apply_report});
}

}  // namespace weft
