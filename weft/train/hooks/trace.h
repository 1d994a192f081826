// Writes where the time of a run goes, as chrome://tracing and Perfetto show
// it: waiting for a batch, computing, measuring, saving.
//
// Threads: the loop's.
// Source:  Google, "Trace Event Format", JSON array format. Its closing bracket
//          may be missing, so that the trace of a run that was killed can be
//          read too.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "weft/base/stopwatch.h"
#include "weft/train/step/train_hook.h"

namespace weft {

// What passed since its last call is an event, so that it runs behind the hooks
// whose time it tells. With several workers the first one's time is written.
class TraceHook : public TrainHook {
 public:
  // `file` is below the run's folder, unless its path is absolute. After the
  // first `steps` of this process no step is written; 0: all are.
  TraceHook(std::filesystem::path file, std::int64_t steps)
      : path_(std::move(file)), steps_left_(steps > 0 ? steps : -1) {}

  // Throws Error(kUnavailable) for a file that cannot be written.
  void on_start(TrainLoop& loop) override;
  void on_step(TrainLoop& loop) override;
  void on_measure(TrainLoop& loop) override;
  void on_epoch(TrainLoop& loop) override;

 private:
  // What lasted from the end of the event before until `end`; `number` is that
  // of the step or epoch.
  void write(std::string_view name, std::int64_t number, double end);

  std::filesystem::path path_;
  std::int64_t steps_left_;  // below 0: without end
  std::ofstream file_;
  Stopwatch watch_;
  double written_until_ = 0;  // seconds since on_start()
};

}  // namespace weft
