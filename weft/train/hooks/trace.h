// Writes where the time of a run goes, as Perfetto shows it: waiting for a
// batch, computing, measuring, saving; and within these each step of the graph
// with its kernel, the loader, messages, and memory (runtime/trace_file.h).
//
// Threads: the loop's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "weft/base/profile.h"
#include "weft/runtime/trace_file.h"
#include "weft/train/step/train_hook.h"

namespace weft {

// What passed since its last call is an event, so that it runs behind the hooks
// whose time it tells. Of several workers of one process all is written, of
// several processes the first one's.
class TraceHook : public TrainHook {
 public:
  // `file` is below the run's folder, unless its path is absolute. After the
  // first `steps` of this process no step is written; 0: all are.
  TraceHook(std::filesystem::path file, std::int64_t steps)
      : path_(std::move(file)), steps_left_(steps > 0 ? steps : -1) {}

  // Throws Error(kUnavailable) for a file that cannot be written, and
  // Error(kInvalidArgument) where the process records a profile already.
  void on_start(TrainLoop& loop) override;
  void on_step(TrainLoop& loop) override;
  void on_measure(TrainLoop& loop) override;
  void on_epoch(TrainLoop& loop) override;

 private:
  // What lasted from the end of the event before until `end`.
  void write(const SpanKindRef& kind, double end);

  std::filesystem::path path_;
  std::int64_t steps_left_;  // below 0: without end
  std::optional<Profile> profile_;
  std::optional<TraceWriter> file_;
  double written_until_ = 0;  // by the clock of profiles
};

}  // namespace weft
