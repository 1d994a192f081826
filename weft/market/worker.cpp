#include "weft/market/worker.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "weft/base/file.h"
#include "weft/base/process.h"
#include "weft/market/key_socket.h"
#include "weft/market/sealed_result.h"
#include "weft/market/sending.h"

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

// The job that it runs, if it has not handed in its report.
std::int64_t job_of(const State& state, const PublicKey& worker) {
  const auto found = state.workers.find(worker);
  if (found == state.workers.end()) {
    throw Error(ErrorCode::kInvalidArgument, "worker",
                "{} is no worker of this market", short_name(worker))
        .hint("weft market send LEDGER offer … makes it one");
  }
  return found->second.job;
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
  fields.set("signature", to_hex(result.signature));
  return fields;
}

}  // namespace

std::filesystem::path report_path(const std::filesystem::path& results,
                                  std::int64_t job) {
  return results / fmt::format("job-{}.report.json", job);
}

std::filesystem::path result_path(const std::filesystem::path& results,
                                  std::int64_t job) {
  return results / fmt::format("job-{}.sealed", job);
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
      .scratch = setting.results / fmt::format("job-{}.scratch", number)};
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
  const EnclaveOrder order = order_of(market.current(), job, worker, setting);
  const auto platform =
      software_platform(setting.machine, order.recipe, order.job.task);
  const EnclaveResult result =
      run_order(order, *platform,
                [&](const KeyRequest& request, const Signature& signature) {
                  std::vector<std::string> boxes;
                  for (const std::string& socket : setting.keys) {
                    boxes.push_back(ask_keys(socket, request, signature));
                  }
                  return boxes;
                });
  if (!result.failure.empty())
    std::fprintf(stderr, "%s\n", result.failure.c_str());
  write_result(result_path(setting.results, job), order.job.payer,
               result.outputs);
  const auto& specs = market_transaction_registry().get("report").fields;
  const std::string members = report_fields(result).to_json_members(specs);
  write_file(report_path(setting.results, job),
             "{" + members.substr(1) + "}\n");
}

Fields read_report(const std::filesystem::path& results, std::int64_t job) {
  const std::string text = read_text(report_path(results, job));
  // It is read as the transaction is that will carry it.
  const std::string zeros(64, '0');
  return parse_request(
             fmt::format(
                 R"({{"market":"{}","account":"{}","nonce":0,"do":"report",{})",
                 zeros, zeros, text.substr(1)))
      .fields;
}

std::int64_t work_once(Market& market, const SigningKey& worker,
                       const WorkerSetting& setting,
                       const std::function<void(const std::string&)>& told) {
  const std::int64_t number = job_of(market.current(), worker.public_key());
  if (number == 0) return 0;
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
  send(market, worker, "report", read_report(setting.results, number), told);
  return number;
}

}  // namespace weft::market
