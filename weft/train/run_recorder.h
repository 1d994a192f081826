// Tells by run.json what a folder is of while its run goes on: that it runs,
// and how it ended.
//
// Threads: caller synchronises; one process writes a folder.
#pragma once

#include <filesystem>
#include <optional>

#include "weft/base/error.h"
#include "weft/train/run_record.h"

namespace weft {

// A run that failed before begin(), and a worker that is not the first, which
// never calls it, record nothing: end() and fail() do nothing then.
class RunRecorder {
 public:
  // `record` says what is trained and how epochs are compared. Throws as
  // write_record().
  void begin(std::filesystem::path folder, RunRecord record);

  // The metric that compares epochs stays the record's own. Throws as
  // write_record().
  void end(RunOutcome outcome);
  // Records how far a run came that failed for `reason`. Throws nothing.
  void fail(const Error& reason, RunOutcome reached);

 private:
  std::filesystem::path folder_;
  std::optional<RunRecord> record_;  // once it has begun
};

}  // namespace weft
