// Trains what a recipe describes: epochs of steps, measuring, checkpoints.
//
// A run is a function of its recipe: the same bits come out whether it ran
// through or was killed anywhere and resumed.
//
// Threads: caller synchronises; `stop` may be set from anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "weft/nn/model.h"
#include "weft/train/metrics.h"
#include "weft/train/recipe.h"

namespace weft {

struct TrainerOptions {
  std::string name;         // of the recipe, for people
  bool is_resumed = false;  // continue from the folder's last checkpoint
  // Ends the run after the current step, with a checkpoint, once true.
  const std::atomic<bool>* stop = nullptr;
};

// What is about to be trained.
struct TrainSummary {
  std::string name;
  Task task = Task::kClassification;
  std::string model;
  std::string data;
  std::string unit;  // what an example is called: "img"
  std::int64_t parameters = 0;
  std::int64_t train_examples = 0;
  std::int64_t held_out_examples = 0;
  std::int64_t epochs = 0;
  std::int64_t first_step = 0;  // above 0 when resumed
};

// Where a run stands.
struct TrainProgress {
  std::int64_t epoch = 0;  // from 1
  std::int64_t epochs = 0;
  std::int64_t examples = 0;  // of this epoch, seen
  std::int64_t all_examples = 0;
  double samples_per_s = 0;
  Scores train;  // over the epoch so far
};

// Is told how a run goes. Every function may throw, which ends the run.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const TrainSummary&) {}
  virtual void on_note(const std::string&) {}
  virtual void on_step(const TrainProgress&) {}
  virtual void on_epoch(const TrainProgress&, const EpochMetrics&) {}
};

struct TrainResult {
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  double seconds = 0;
  double train_loss = kNotMeasured;  // mean of the last epoch
  // Of the best checkpoint, on the test data.
  Scores test;
  std::int64_t best_epoch = 0;
  double samples_per_s = 0;
  std::filesystem::path checkpoint;  // the best one
};

class Trainer {
 public:
  // Opens the data and builds everything; trains nothing yet.
  Trainer(Recipe recipe, TrainerOptions options);
  ~Trainer();

  // Throws Error(kCancelled) when stopped, after writing a checkpoint;
  // Error(kNumeric) when the loss or a parameter is no number, leaving the
  // last checkpoint as it was.
  TrainResult run(TrainObserver& observer);

 private:
  class Run;
  std::unique_ptr<Run> run_;
};

}  // namespace weft
