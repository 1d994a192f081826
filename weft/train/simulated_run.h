// Trains a recipe by all workers of a cluster that is not there: for real, with
// the policies, codecs and collectives of real ones, on the virtual clock of
// [simulate] network.
//
// All times in the result, the metrics and the traffic are of that clock.
// Batches come, and measuring and saving happen, in no time.
//
// Threads: caller synchronises; all workers run on the caller's thread, one at
// a
//          time, each with all of its compute threads.
// Cost: the computing of all workers, one after the other, and two microseconds
//       per message.
#pragma once

#include "weft/train/trainer.h"

namespace weft {

// How many workers recipe.simulate.network has; 0 where it is empty.
int simulated_workers(const Recipe& recipe);

// There must be some. `options` are those of each worker; its transport is
// null. The result is the first worker's. Throws as Trainer, and
// Error(kInvalidArgument) for a network of one.
TrainResult train_simulated(const Recipe& recipe, const TrainerOptions& options,
                            TrainObserver& observer);

}  // namespace weft
