// Measures the model on held-out data as epochs end, and knows which epoch was
// best.
//
// Threads: the loop's.
#pragma once

#include "weft/train/step/evaluation.h"
#include "weft/train/step/train_hook.h"

namespace weft {

class MeasureHook : public TrainHook {
 public:
  MeasureHook(const TrainingTask& task, Evaluation& held_out)
      : task_(task), held_out_(held_out) {}

  void on_measure(TrainLoop& loop) override;
  void remember(TrainNumbers& numbers) const override;
  void recall(const TrainNumbers& numbers) override;

  const Scores& best() const { return best_; }
  std::int64_t best_epoch() const { return best_epoch_; }

 private:
  const TrainingTask& task_;
  Evaluation& held_out_;
  Scores best_;
  std::int64_t best_epoch_ = 0;
};

}  // namespace weft
