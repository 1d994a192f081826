#include "weft/train/run_record.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include "weft/base/file.h"

namespace weft {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// A file of more than this is no record, and is not read into memory.
constexpr std::size_t kMostBytes = std::size_t{1} << 20;
constexpr std::array kStates{RunState::kRunning, RunState::kDone,
                             RunState::kInterrupted, RunState::kFailed};

std::string host_name() {
  std::array<char, 256> name{};
  // A name that is cut off still tells one host from another.
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// Whether the process that wrote a record still runs. On another host nobody
// can tell, and it is believed.
bool is_alive(const RunRecord& record) {
  if (record.host != host_name()) return true;
  // Signal 0 asks, and kills nothing. EPERM says that there is such a process,
  // of another user.
  return kill(static_cast<pid_t>(record.process), 0) == 0 || errno == EPERM;
}

// JSON has no NaN, for which null stands.
Json json_number(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

RunState state_from(const std::string& text) {
  const auto found =
      std::ranges::find(kStates, text, [](RunState s) { return to_string(s); });
  if (found == kStates.end()) {
    throw Error(ErrorCode::kDataLoss, "", "there is no state '{}'", text);
  }
  return *found;
}

Json to_json(const RunOutcome& outcome) {
  Json test = Json::object();
  for (const auto& [name, value] : outcome.test.all()) {
    test[name] = json_number(value);
  }
  return {{"state", to_string(outcome.state)},
          {"reason", outcome.reason},
          {"metric",
           {{"name", outcome.deciding.name},
            {"higher_is_better", outcome.deciding.is_higher_better},
            {"digits", outcome.deciding.digits}}},
          {"test", test},
          {"epochs_done", outcome.epochs},
          {"best_epoch", outcome.best_epoch},
          {"seconds", json_number(outcome.seconds)}};
}

RunOutcome outcome_from(const Json& json) {
  RunOutcome outcome;
  outcome.state = state_from(json.at("state").get<std::string>());
  outcome.reason = json.at("reason").get<std::string>();
  const Json& metric = json.at("metric");
  outcome.deciding.name = metric.at("name").get<std::string>();
  outcome.deciding.is_higher_better = metric.at("higher_is_better").get<bool>();
  // More digits than a double has would only be zeros.
  outcome.deciding.digits = std::clamp(metric.at("digits").get<int>(), 0, 17);
  for (const auto& [name, value] : json.at("test").items()) {
    outcome.test.set(name,
                     value.is_null() ? kNotMeasured : value.get<double>());
  }
  outcome.epochs = json.at("epochs_done").get<std::int64_t>();
  outcome.best_epoch = json.at("best_epoch").get<std::int64_t>();
  const Json& seconds = json.at("seconds");
  outcome.seconds = seconds.is_null() ? kNotMeasured : seconds.get<double>();
  return outcome;
}

}  // namespace

std::string_view to_string(RunState state) {
  switch (state) {
    case RunState::kRunning:
      return "running";
    case RunState::kDone:
      return "done";
    case RunState::kInterrupted:
      return "interrupted";
    case RunState::kFailed:
      return "failed";
  }
  return "";
}

RunRecord new_record() {
  RunRecord record;
  record.started = std::time(nullptr);
  record.process = getpid();
  record.host = host_name();
  return record;
}

std::string to_json(const RunRecord& record) {
  Json json{{"name", record.name},     {"task", record.task},
            {"model", record.model},   {"data", record.data},
            {"epochs", record.epochs}, {"started", record.started},
            {"ended", record.ended},   {"process", record.process},
            {"host", record.host}};
  json.update(to_json(record.outcome));
  // Reasons quote names from files, which need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

RunRecord parse_record(std::string_view text, std::string_view where) {
  try {
    const Json json = Json::parse(text);
    RunRecord record;
    record.name = json.at("name").get<std::string>();
    record.task = json.at("task").get<std::string>();
    record.model = json.at("model").get<std::string>();
    record.data = json.at("data").get<std::string>();
    record.epochs = json.at("epochs").get<std::int64_t>();
    record.started = json.at("started").get<std::int64_t>();
    record.ended = json.at("ended").get<std::int64_t>();
    record.process = json.at("process").get<std::int64_t>();
    record.host = json.at("host").get<std::string>();
    record.outcome = outcome_from(json);
    return record;
    // What the library throws says nothing of the file.
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kDataLoss, where, "damaged record of a run: {}",
                error.what());
  }
}

fs::path record_path(const fs::path& folder) { return folder / "run.json"; }

// The file is replaced as a whole, so that who lists runs meanwhile never reads
// half of one.
void write_record(const fs::path& folder, const RunRecord& record) {
  write_file(record_path(folder), to_json(record) + "\n");
}

RunRecord read_record(const fs::path& folder) {
  const fs::path path = record_path(folder);
  RunRecord record = parse_record(read_text(path, kMostBytes), path.string());
  // A process that was killed has left the state that it last wrote.
  if (record.outcome.state == RunState::kRunning && !is_alive(record)) {
    record.outcome.state = RunState::kInterrupted;
    record.outcome.reason = "killed";
  }
  return record;
}

}  // namespace weft
