#include "weft/train/hooks/trace.h"

#include <algorithm>

#include "weft/base/file.h"
#include "weft/train/train_loop.h"

namespace weft {

void TraceHook::on_start(TrainLoop& loop) {
  if (!loop.worker().is_first()) return;
  const auto path = loop.recipe().log.folder / path_;
  create_folders(path.parent_path());
  file_.open(path);
  // Readers of the format take a list whose end is missing, so that a run may
  // stop anywhere.
  file_ << "[\n";
  if (!file_) {
    throw Error(ErrorCode::kUnavailable, "trace.file", "'{}' cannot be written",
                path.string());
  }
  watch_ = Stopwatch();
}

void TraceHook::on_step(TrainLoop& loop) {
  const double now = watch_.seconds();
  // The clock goes on behind the last step that is written, so that later
  // events have their own length.
  if (steps_left_ == 0) {
    written_until_ = now;
    return;
  }
  if (steps_left_ > 0) --steps_left_;
  // What the step does not account for went to hooks, those after the step
  // before and those after this one.
  const StepSeconds& step = loop.last_step_seconds();
  const double begin =
      std::max(written_until_, now - step.waiting - step.computing);
  write("hooks", loop.steps_done(), begin);
  write("wait for batch", loop.steps_done(), begin + step.waiting);
  write("compute", loop.steps_done(), now);
}

void TraceHook::on_measure(TrainLoop& loop) {
  write("measure", loop.epoch().epoch, watch_.seconds());
}

void TraceHook::on_epoch(TrainLoop& loop) {
  write("save and log", loop.epoch().epoch, watch_.seconds());
  file_.flush();  // whole epochs can be read while the run goes on
}

void TraceHook::write(std::string_view name, std::int64_t number, double end) {
  // Only the first worker has a file. What cannot be written is left out: a
  // full disk ends a run where its checkpoints are written, not here.
  if (file_.is_open()) {
    file_ << fmt::format(
        R"({{"name": "{}", "ph": "X", "ts": {:.1f}, "dur": {:.1f}, )"
        R"("pid": 0, "tid": 0, "args": {{"number": {}}}}},)"
        "\n",
        name, 1e6 * written_until_, 1e6 * (end - written_until_), number);
  }
  written_until_ = end;
}

}  // namespace weft
