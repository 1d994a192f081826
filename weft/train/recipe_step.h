// The training step of a recipe, for a loop of one's own:
//
//   RecipeStep step(load_recipe("recipes/digits.toml"));
//   for (int epoch = 0; epoch < 5; ++epoch) {
//     for (std::int64_t i = 0; i < step.batches_per_epoch(); ++i) {
//       step.train(step.next().tensors);
//     }
//     fmt::print("{}\n", step.evaluate().get("accuracy"));
//   }
//   step.save("digits.safetensors");
//
// Where the optimizer keeps averages of parameters (ema), evaluate() and
// predict() use those, and model() has what is trained.
//
// There is one worker. What the Trainer does beside its steps, as to log and to
// stop, is left to the caller.
//
// Threads: caller synchronises.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/train/assembly.h"
#include "weft/train/step/evaluation.h"
#include "weft/train/step/step.h"

namespace weft {

class RecipeStep {
 public:
  // Opens the data and builds everything but what is given in place of it. The
  // model gets its first values by the recipe's seed. Throws as assemble().
  explicit RecipeStep(Recipe recipe, const GivenObjects& given = {});

  // The next batch to train on, as an uninterrupted run has it; its tensors
  // hold until the next call.
  const Batch& next();
  std::int64_t batches_per_epoch() const;
  // How many are left in the epoch that next() is in: at its end, those of a
  // whole one.
  std::int64_t batches_left() const;
  // Steps that train() has made, also before load().
  std::int64_t steps_done() const { return steps_done_; }

  // One step on a batch, of any size, at the rate that the recipe has for it
  // unless `lr` is given. What the step measured: the metrics of the task.
  // Throws Error(kNumeric) for a loss that is no number.
  Scores train(std::span<const Tensor> batch,
               std::optional<double> lr = std::nullopt);
  // The metrics on the held-out data that decide which weights are best, or on
  // another part. Throws Error(kInvalidArgument) for a part that is not there.
  Scores evaluate(std::optional<DataPart> part = std::nullopt);
  // What the model makes of known inputs, as the task has it.
  std::vector<Tensor> predict(std::span<const Tensor> known);

  // A checkpoint as a Trainer writes them; for `weft eval` where the model is
  // the recipe's.
  void save(const std::filesystem::path& path) const;
  // What predict() does, in a file by itself. Throws as export_step()
  // (step/export.h).
  void export_model(const std::filesystem::path& path) const;
  // Goes on from a checkpoint. Throws as CheckpointFile, also for that of
  // another model.
  void load(const std::filesystem::path& path);

  const TrainingTask& task() const { return *assembly_.task; }
  nn::Module& model() { return *assembly_.model; }

 private:
  StepDescription in_use() const;

  Recipe recipe_;
  Assembly assembly_;
  std::unique_ptr<BatchSource> source_;
  StepDescription description_;
  Step train_;
  std::optional<Step> predict_;  // made when first asked for
  std::int64_t steps_done_ = 0;
};

}  // namespace weft
