#include "weft/train/run_recorder.h"

#include <ctime>
#include <utility>

namespace weft {

void RunRecorder::begin(std::filesystem::path folder, RunRecord record) {
  folder_ = std::move(folder);
  record_ = std::move(record);
  write_record(folder_, *record_);
}

void RunRecorder::end(RunOutcome outcome) {
  if (!record_) return;
  outcome.deciding = record_->outcome.deciding;
  record_->outcome = std::move(outcome);
  record_->ended = std::time(nullptr);
  write_record(folder_, *record_);
}

void RunRecorder::fail(const Error& reason, RunOutcome reached) {
  reached.state = reason.code() == ErrorCode::kCancelled
                      ? RunState::kInterrupted
                      : RunState::kFailed;
  reached.reason = reason.what();
  try {
    end(std::move(reached));
  } catch (const Error&) {
    // Where the disk is full, why the run ended matters more than that this
    // could not be written: the record then still says that it runs, and
    // whoever reads it sees that its process is gone.
  }
}

}  // namespace weft
