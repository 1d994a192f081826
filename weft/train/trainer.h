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
#include <memory>
#include <string>

#include "weft/train/assembly.h"
#include "weft/train/progress.h"
#include "weft/train/recipe/recipe.h"
#include "weft/train/step/train_hook.h"

namespace weft {

class ExecutableCache;
class SimulatedComputing;
class Transport;
class WorkerGroup;

struct TrainerOptions {
  std::string name;         // of the recipe, for people
  bool is_resumed = false;  // continue from the folder's last checkpoint
  // Ends the run after the current step, with a checkpoint, once true.
  const std::atomic<bool>* stop = nullptr;
  // What is trained in place of what the recipe says, the model from first
  // values by the recipe's seed; its checkpoints suit only such objects.
  GivenObjects given = {};
  // The network to the other workers that train with this one, each calling
  // the same functions of a Trainer of its own; null: this one is alone.
  Transport* transport = nullptr;
  // What it is charged for computing where that network is simulated
  // (simulated_run.h); else null.
  SimulatedComputing* computing = nullptr;
  // Whose executables its steps run, as StepOptions says.
  ExecutableCache* executables = nullptr;
};

// With several workers, only the first one writes files and tells an observer
// how it goes. A worker that fails ends the others with its reason.
class Trainer {
 public:
  // Throws Error(kInvalidArgument) for a recipe that simulates a cluster,
  // unless this is one of its workers (simulated_run.h). Opens the data and
  // builds everything; trains nothing yet. With several workers collective: all
  // throw the same Error(kInvalidArgument), naming what differs and on which
  // rank, unless they have the same recipe and data.
  Trainer(Recipe recipe, TrainerOptions options);
  ~Trainer();

  // Called behind the trainer's own hooks.
  void add(std::unique_ptr<TrainHook> hook);

  // Once. Throws Error(kCancelled) when stopped, after writing a checkpoint;
  // Error(kNumeric) when the loss or a parameter is no number, leaving the
  // last checkpoint as it was.
  TrainResult run(TrainObserver& observer);

 private:
  class Run;
  std::unique_ptr<WorkerGroup> group_;  // null: this one is alone
  std::unique_ptr<Run> run_;
};

}  // namespace weft
