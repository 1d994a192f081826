// Ends a run when held-out data have not become better for some epochs.
//
// Threads: the loop's.
#pragma once

#include "weft/train/hooks/measure.h"

namespace weft {

class StopEarlyHook : public TrainHook {
 public:
  // `patience`: epochs, at least 1. Runs behind `measure`, which outlives this.
  StopEarlyHook(std::int64_t patience, const MeasureHook& measure)
      : patience_(patience), measure_(measure) {}

  void on_measure(TrainLoop& loop) override;

 private:
  std::int64_t patience_;
  const MeasureHook& measure_;
};

}  // namespace weft
