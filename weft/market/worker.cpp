#include "weft/market/worker.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "weft/base/file.h"
#include "weft/base/process.h"
#include "weft/market/checking.h"
#include "weft/market/key_socket.h"
#include "weft/market/recheck.h"
#include "weft/market/sealed_result.h"
#include "weft/market/sending.h"
#include "weft/market/stage_states.h"

namespace weft::market {
namespace {

// The owner of the machine can undo it: it keeps out other processes of the
// same account, and secrets out of dumps.
void keep_others_out() {
  prctl(PR_SET_DUMPABLE, 0);
  const rlimit none{};
  setrlimit(RLIMIT_CORE, &none);
}

std::string account_text(const PublicKey& key) { return to_hex(key); }

void send(Market& market, const SigningKey& key, std::string_view what,
          Fields fields, const std::function<void(const std::string&)>& told) {
  const Market::Outcome outcome =
      market.commit({next_transaction(market, key, what, std::move(fields))});
  for (const std::string& note : outcome.notes) told(note);
  for (const Refusal& refusal : outcome.refused) told(refusal.why);
}

Fields report_fields(const EnclaveResult& result) {
  const Report& report = result.report;
  Fields fields;
  fields.set("job", report.job);
  fields.set("assignment", report.nonce);
  fields.set("measurement", report.measurement);
  fields.set("inputs", report.inputs);
  fields.set("outputs", report.outputs);
  fields.set("status", std::string(to_string(report.status)));
  fields.set("reads", report.reads);
  fields.set("values", report.values);
  fields.set("stages", report.stages);
  fields.set("states", report.states);
  fields.set("signature", to_hex(result.signature));
  return fields;
}

Fields verdict_fields(const CheckResult& result) {
  const Verdict& verdict = result.verdict;
  Fields fields;
  fields.set("job", verdict.job);
  fields.set("assignment", verdict.nonce);
  fields.set("measurement", verdict.measurement);
  fields.set("states", verdict.states);
  fields.set("holds", verdict.holds);
  fields.set("signature", to_hex(result.signature));
  return fields;
}

std::filesystem::path said_path(const std::filesystem::path& results,
                                std::int64_t job) {
  return results / fmt::format("job-{}.said.json", job);
}

std::filesystem::path states_path(const std::filesystem::path& results,
                                  std::int64_t job) {
  return results / fmt::format("job-{}.states", job);
}

void write_said(const std::filesystem::path& results, std::int64_t job,
                const Said& said) {
  const auto& specs = market_transaction_registry().get(said.what).fields;
  Fields fields = said.fields;
  fields.complete(specs, said.what);
  write_file(said_path(results, job),
             fmt::format("{{\"do\":\"{}\"{}}}\n", said.what,
                         fields.to_json_members(specs)));
}

Said said_of_job(const EnclaveOrder& order, const WorkerSetting& setting,
                 const Platform& platform, const AskKeys& ask) {
  const EnclaveResult result = run_order(order, platform, ask);
  if (!result.failure.empty()) {
    std::fprintf(stderr, "%s\n", result.failure.c_str());
  }
  write_result(result_path(setting.results, order.number), order.job.payer,
               result.outputs);
  return {"report", report_fields(result)};
}

Said said_of_check(const EnclaveOrder& order, const Platform& platform,
                   const AskKeys& ask) {
  const CheckResult result = check_training(order, platform, ask);
  if (!result.fault.empty()) {
    std::fprintf(stderr, "%s\n", result.fault.c_str());
  }
  return {"verdict", verdict_fields(result)};
}

Said said_of_opening(const EnclaveOrder& order, const State& state,
                     const Platform& platform) {
  const Assignment& checker = running_checker(order.job)->assignment;
  const Report& report = *checked_assignment(order.job).report;
  std::int64_t all = 0;
  for (const std::int64_t due : order.job.reads_due) all += due;
  WEFT_CHECK(all > 0, "a job reads something");
  std::int64_t reads = 0;
  for (const std::int64_t read : report.reads) reads += read;
  Fields fields;
  fields.set("job", order.number);
  fields.set("evidence", open_states(order.states, order.store, platform,
                                     state.workers.at(checker.worker).machine,
                                     order.job.checking.drawn,
                                     order.job.epochs * reads / all));
  return {"open_states", std::move(fields)};
}

// Nobody can ask for the states of a job that is over.
void remove_old_states(const State& state,
                       const std::filesystem::path& results) {
  for (std::size_t i = 0; i < state.jobs.size(); ++i) {
    if (state.jobs[i].checking.draws == 0 || !state.jobs[i].is_over()) continue;
    std::error_code ignored;
    std::filesystem::remove_all(
        states_path(results, static_cast<std::int64_t>(i) + 1), ignored);
  }
}

}  // namespace

std::filesystem::path result_path(const std::filesystem::path& results,
                                  std::int64_t job) {
  return results / fmt::format("job-{}.sealed", job);
}

Duty duty_of(const State& state, const PublicKey& worker) {
  const auto found = state.workers.find(worker);
  if (found == state.workers.end()) {
    throw Error(ErrorCode::kInvalidArgument, "worker",
                "{} is no worker of this market", short_name(worker))
        .hint("weft market send LEDGER offer … makes it one");
  }
  const std::int64_t number = found->second.job;
  if (number == 0) return {};
  const Job& job = entry(state.jobs, number, "job");
  if (job.state != JobState::kChecking) return {Duty::Kind::kRun, number};
  const Checker* checker = running_checker(job);
  // A worker waits for its checker, and a checker for the states.
  if (checker == nullptr) return {};
  const bool is_checker = checker->assignment.worker == worker;
  if (is_checker == checker->evidence.empty()) return {};
  return {is_checker ? Duty::Kind::kCheck : Duty::Kind::kOpen, number};
}

EnclaveOrder order_of(const State& state, std::int64_t number,
                      const PublicKey& worker, const WorkerSetting& setting) {
  EnclaveOrder order{
      .number = number,
      .job = entry(state.jobs, number, "job"),
      .worker = worker,
      .contents = {},
      .examples = {},
      .recipe = {},
      .store = setting.store,
      .scratch = setting.results / fmt::format("job-{}.scratch", number),
      .states = states_path(setting.results, number)};
  for (const std::int64_t shard : order.job.shards) {
    order.contents.push_back(entry(state.shards, shard, "shard").content);
    order.examples.push_back(entry(state.shards, shard, "shard").examples);
  }
  // A valuation has no recipe.
  const auto recipe = stored(setting.store, order.job.measurement);
  if (std::filesystem::exists(recipe)) order.recipe = read_text(recipe);
  return order;
}

void run_enclave(const WorkerSetting& setting, const PublicKey& worker,
                 std::int64_t job) {
  keep_others_out();
  Ledger ledger = Ledger::open(setting.ledger);
  Market market(ledger);
  create_folders(setting.results);
  const State& state = market.current();
  const EnclaveOrder order = order_of(state, job, worker, setting);
  const auto platform =
      software_platform(setting.machine, order.recipe, order.job.task);
  const AskKeys ask = [&](const KeyRequest& request,
                          const Signature& signature) {
    std::vector<std::string> boxes;
    for (const std::string& socket : setting.keys) {
      boxes.push_back(ask_keys(socket, request, signature));
    }
    return boxes;
  };
  switch (duty_of(state, worker).kind) {
    case Duty::Kind::kRun:
    case Duty::Kind::kNone:  // refused there: the worker does not run the job
      return write_said(setting.results, job,
                        said_of_job(order, setting, *platform, ask));
    case Duty::Kind::kOpen:
      return write_said(setting.results, job,
                        said_of_opening(order, state, *platform));
    case Duty::Kind::kCheck:
      return write_said(setting.results, job,
                        said_of_check(order, *platform, ask));
  }
}

Said read_said(const std::filesystem::path& results, std::int64_t job) {
  const std::string text = read_text(said_path(results, job));
  // It is read as the transaction is that will carry it.
  const std::string zeros(64, '0');
  const Request request = parse_request(
      fmt::format(R"({{"market":"{}","account":"{}","nonce":0,{})", zeros,
                  zeros, text.substr(1)));
  return {request.def->name, request.fields};
}

std::int64_t work_once(Market& market, const SigningKey& worker,
                       const WorkerSetting& setting,
                       const std::function<void(const std::string&)>& told) {
  remove_old_states(market.current(), setting.results);
  const Duty duty = duty_of(market.current(), worker.public_key());
  if (duty.kind == Duty::Kind::kNone) return 0;
  const std::int64_t number = duty.job;
  const EnclaveOrder order =
      order_of(market.current(), number, worker.public_key(), setting);
  if (measurement_of(own_program(), order.recipe, order.job.task) !=
      order.job.measurement) {
    told(fmt::format("job {} asks for a program or recipe that is not here",
                     number));
    Fields fields;
    fields.set("job", number);
    send(market, worker, "decline", std::move(fields), told);
    return number;
  }
  std::vector<std::string> command{own_program().string(),
                                   "market",
                                   "enclave",
                                   setting.ledger,
                                   std::to_string(number),
                                   "--worker",
                                   account_text(worker.public_key()),
                                   "--machine",
                                   setting.machine.string(),
                                   "--store",
                                   setting.store.string(),
                                   "--results",
                                   setting.results.string()};
  for (const std::string& socket : setting.keys) {
    command.push_back("--keys");
    command.push_back(socket);
  }
  const ProcessResult process = run_process(command);
  if (!process.errors.empty()) told(process.errors);
  if (process.exit_code != 0) {
    throw Error(ErrorCode::kUnavailable, "enclave",
                "the process of job {} ended with {}", number,
                process.exit_code);
  }
  Said said = read_said(setting.results, number);
  send(market, worker, said.what, std::move(said.fields), told);
  return number;
}

}  // namespace weft::market
