// Tells an observer how a run goes.
//
// Threads: the loop's.
#pragma once

#include "weft/train/progress.h"
#include "weft/train/train_loop.h"

namespace weft {

class NarrateHook : public TrainHook {
 public:
  // `observer` outlives this.
  explicit NarrateHook(TrainObserver& observer) : observer_(observer) {}

  void on_step(TrainLoop& loop) override {
    if (!loop.note().empty()) observer_.on_note(loop.note());
    observer_.on_step(loop.progress());
  }
  void on_epoch(TrainLoop& loop) override {
    observer_.on_epoch(loop.progress(), loop.epoch());
  }

 private:
  TrainObserver& observer_;
};

}  // namespace weft
