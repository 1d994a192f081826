// Writes checkpoints: after each epoch, every so many steps, and when a run is
// interrupted. The run waits until all of its state is on the disk.
//
// Threads: the loop's.
// Errors:  Error(kNumeric) where the state holds NaN or infinity, and as
//          CheckpointFolder::save().
#pragma once

#include <string>

#include "weft/train/files/checkpoint.h"
#include "weft/train/step/train_hook.h"

namespace weft {

class SaveHook : public TrainHook {
 public:
  // `recipe` is the text that checkpoints carry, `data` what the model rests on
  // in its data; `folder` outlives this.
  SaveHook(CheckpointFolder& folder, std::string recipe, DescriptionMarks data)
      : folder_(folder), recipe_(std::move(recipe)), data_(std::move(data)) {}

  void on_step(TrainLoop& loop) override;
  void on_epoch(TrainLoop& loop) override;
  void on_interrupt(TrainLoop& loop, Error& reason) override;
  void on_failure(TrainLoop& loop, Error& reason) override;

 private:
  void save(TrainLoop& loop, bool is_best);

  CheckpointFolder& folder_;
  std::string recipe_;
  DescriptionMarks data_;
};

}  // namespace weft
