// Trains what a recipe describes: epochs of steps, measuring, checkpoints.
//
// A run is a function of its recipe: the same bits come out whether it ran
// through or was killed anywhere and resumed. With several workers, whose
// network decides how gradients are added, the recipe must name it
// (sync.topology, or sync.collective) for that.
//
// Threads: caller synchronises; `stop` may be set from anywhere.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "weft/nn/model.h"
#include "weft/train/metrics.h"
#include "weft/train/recipe.h"

namespace weft {

class Transport;
class WorkerGroup;

struct TrainerOptions {
  std::string name;         // of the recipe, for people
  bool is_resumed = false;  // continue from the folder's last checkpoint
  // Ends the run after the current step, with a checkpoint, once true.
  const std::atomic<bool>* stop = nullptr;
  // The network to the other workers that train with this one, each calling
  // the same functions of a Trainer of its own; null: this one is alone.
  Transport* transport = nullptr;
};

// What is about to be trained.
struct TrainSummary {
  std::string name;
  TaskKind task = TaskKind::kClassification;
  std::string model;
  std::string data;
  std::string unit;           // what an example is called: "img"
  DType dtype = DType::kF32;  // that heavy layers compute in
  std::int64_t parameters = 0;
  std::int64_t train_examples = 0;
  std::int64_t held_out_examples = 0;
  std::int64_t first_step = 0;  // above 0 when resumed
  int workers = 1;
  std::string sync;  // how they synchronise; empty for one
};

// Where a run stands.
struct TrainProgress {
  std::int64_t epoch = 0;  // from 1
  std::int64_t epochs = 0;
  std::int64_t examples = 0;  // of this epoch, seen
  std::int64_t all_examples = 0;
  std::int64_t examples_left = 0;  // in the whole run
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
  // What the best checkpoint reaches on the test data.
  Scores test;
  std::int64_t best_epoch = 0;
  double samples_per_s = 0;  // of all workers together
  int workers = 1;
  std::optional<StepTraffic> traffic;  // mean step of the first worker
  std::filesystem::path checkpoint;    // the best one
};

// With several workers, only the first one writes files and tells an observer
// how it goes. A worker that fails ends the others with its reason.
class Trainer {
 public:
  // Opens the data and builds everything; trains nothing yet. With several
  // workers collective: all throw the same Error(kInvalidArgument), naming
  // what differs and on which rank, unless they have the same recipe and data.
  Trainer(Recipe recipe, TrainerOptions options);
  ~Trainer();

  // Throws Error(kCancelled) when stopped, after writing a checkpoint;
  // Error(kNumeric) when the loss or a parameter is no number, leaving the
  // last checkpoint as it was.
  TrainResult run(TrainObserver& observer);

 private:
  class Run;
  std::unique_ptr<WorkerGroup> group_;  // null: this one is alone
  std::unique_ptr<Run> run_;
};

}  // namespace weft
