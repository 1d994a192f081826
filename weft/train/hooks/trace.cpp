#include "weft/train/hooks/trace.h"

#include <algorithm>

#include "weft/base/file.h"
#include "weft/train/train_loop.h"

namespace weft {
namespace {

SpanKindRef loop_span(const char* name) { return span_kind({name, "loop"}); }

const SpanKindRef kHooks = loop_span("hooks");
const SpanKindRef kWaiting = loop_span("wait for batch");
const SpanKindRef kComputing = loop_span("compute");
const SpanKindRef kMeasuring = loop_span("measure");
const SpanKindRef kSaving = loop_span("save and log");

}  // namespace

void TraceHook::on_start(TrainLoop& loop) {
  if (!loop.worker().is_first()) return;
  const auto path = loop.recipe().log.folder / path_;
  create_folders(path.parent_path());
  file_.emplace(path);
  profile_.emplace();
  profile::name_thread("training");
  written_until_ = profile::now();
}

void TraceHook::on_step(TrainLoop& loop) {
  const double now = profile::now();
  // The clock goes on behind the last step that is written, so that later
  // events have their own length.
  if (steps_left_ == 0) {
    profile_.reset();
    written_until_ = now;
    return;
  }
  if (steps_left_ > 0) --steps_left_;
  // What the step does not account for went to hooks, those after the step
  // before and those after this one.
  const StepSeconds& step = loop.last_step_seconds();
  const double begin =
      std::max(written_until_, now - step.waiting - step.computing);
  write(kHooks, begin);
  write(kWaiting, begin + step.waiting);
  write(kComputing, now);
  if (profile_ && file_) file_->write(profile_->take());
}

void TraceHook::on_measure(TrainLoop&) { write(kMeasuring, profile::now()); }

void TraceHook::on_epoch(TrainLoop&) {
  write(kSaving, profile::now());
  if (!file_) return;
  if (profile_) file_->write(profile_->take());
  file_->flush();  // whole epochs can be read while the run goes on
}

void TraceHook::write(const SpanKindRef& kind, double end) {
  // Only the first worker has a file.
  if (file_) {
    const ProfileEvent event{kind, ProfileEvent::Form::kSpan,
                             profile::this_thread(), written_until_, end};
    file_->write({&event, 1});
  }
  written_until_ = end;
}

}  // namespace weft
