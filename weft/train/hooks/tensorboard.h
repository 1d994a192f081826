// Tells TensorBoard how a run goes: `tensorboard --logdir runs`.
//
// Scalars of each epoch, and of every so many steps; histograms of parameters,
// of their gradients in the last step of each epoch, and of what the optimizer
// keeps of these; the first images of a
// batch; the graph of a step; the recipe as hyperparameters; vectors of words
// and nodes for its projector.
//
// Threads: the loop's.
#pragma once

#include <filesystem>
#include <optional>

#include "weft/train/recipe/recipe.h"
#include "weft/train/step/train_hook.h"
#include "weft/train/tensorboard/event_file.h"

namespace weft {

struct TensorBoardOptions {
  std::filesystem::path folder;  // below the run's
  std::int64_t every = 100;      // steps between scalars; 0: by epochs alone
  bool with_histograms = true;
  bool with_gradients = true;
  std::int64_t images = 4;
};

// Whether a run by this recipe shows gradients of its steps.
bool shows_gradients(const Recipe& recipe);

// The first worker alone writes.
class TensorBoardHook : public TrainHook {
 public:
  explicit TensorBoardHook(TensorBoardOptions options)
      : options_(std::move(options)) {}

  // Throws Error(kUnavailable) for a folder that cannot be written.
  void on_start(TrainLoop& loop) override;
  void on_batch(TrainLoop& loop) override;
  void on_step(TrainLoop& loop) override;
  void on_measure(TrainLoop& loop) override;

 private:
  void write_graph(TrainLoop& loop);
  void write_images(TrainLoop& loop);
  void write_projector(TrainLoop& loop);

  TensorBoardOptions options_;
  std::optional<EventFile> file_;
  bool has_images_ = false;
};

}  // namespace weft
