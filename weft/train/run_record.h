// run.json, which says what a folder is of: what was trained, how far it came
// and how it ended. The trainer writes it as a run begins and ends; `weft runs`
// lists them, and a sweep that goes on sees what is done.
//
//   {"name": "digits", "task": "classification", …, "state": "done",
//    "best_epoch": 17, "test": {"loss": 0.04, "accuracy": 0.9889}, …}
//
// Threads: value types; one process writes a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "weft/train/step/metrics.h"

namespace weft {

enum class RunState { kRunning, kDone, kInterrupted, kFailed };
// "running", "done", "interrupted", "failed".
std::string_view to_string(RunState state);

// How a run went.
struct RunOutcome {
  RunState state = RunState::kRunning;
  std::string reason = {};  // of one that was interrupted or failed
  MetricDef deciding = {};  // the metric by which epochs are compared
  // The rest is that of a run that is done.
  Scores test = {};  // as in TrainResult
  std::int64_t epochs = 0;
  std::int64_t best_epoch = 0;
  double seconds = 0;  // without what was interrupted
};

struct RunRecord {
  std::string name;  // of the recipe
  std::string task;
  std::string model;
  std::string data;
  std::int64_t epochs = 0;   // that the recipe asks for
  std::int64_t started = 0;  // seconds since 1970, when it last began
  std::int64_t ended = 0;    // 0 while it runs
  std::int64_t process = 0;  // that runs it, on `host`
  std::string host;
  RunOutcome outcome;
};

// A record of what this process begins now.
RunRecord new_record();

std::string to_json(const RunRecord& record);
// Throws Error(kDataLoss) naming `where` for what is no record.
RunRecord parse_record(std::string_view text, std::string_view where);

std::filesystem::path record_path(const std::filesystem::path& folder);
// Throws as write_file().
void write_record(const std::filesystem::path& folder, const RunRecord& record);
// A run whose process is gone reads as kInterrupted: it was killed. Throws
// Error(kUnavailable) where there is no record, and as parse_record().
RunRecord read_record(const std::filesystem::path& folder);

}  // namespace weft
