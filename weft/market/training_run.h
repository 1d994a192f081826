// The training of a job, whole or a stage of it.
//
// A stage is so many steps, or what is left of an epoch if that is less, so
// that each epoch ends with a stage. The state behind a stage is a checkpoint
// as it stands before what follows the step, such as measuring at the end of an
// epoch, which the next stage does. Whoever goes on from a state computes the
// same bits as a run that was not interrupted (train/trainer.h).
//
// Threads: caller synchronises.
// Errors:  as the trainer; Error(kDataLoss) for a state that does not fit.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "weft/data/dataset.h"
#include "weft/market/keys.h"

namespace weft::market {

struct TrainingJob {
  std::string recipe;  // text
  DatasetRef rows;
  std::int64_t epochs = 0;
  std::int64_t stage_steps = 0;   // 0: those of an epoch
  std::filesystem::path scratch;  // folder, which the caller removes
};

struct Trained {
  std::string model;   // a file that stands alone
  std::string metric;  // one line of JSON
};

// Is told of the state behind each stage, from 0, which is the beginning: a
// checkpoint, gone when it returns.
using SeeState =
    std::function<void(std::int64_t stage, const std::filesystem::path& file)>;

// All of it.
Trained train_job(const TrainingJob& job, const SeeState& see = {});

// How a training is cut.
struct StageCut {
  std::int64_t stages = 0;          // of all epochs
  std::int64_t steps_of_epoch = 0;  // of which the last stage may have fewer
};

// From the state behind stage `last - 1`, or from the beginning where `start`
// is empty, to the state behind `last`, telling `see` of all on the way but the
// start.
StageCut train_stage(const TrainingJob& job, const std::filesystem::path& start,
                     std::int64_t last, const SeeState& see);

// Throws Error(kDataLoss) for a state that says that it is behind another
// stage: a run must not go on from where no run can be.
void require_stage(const TrainingJob& job, const StageCut& cut,
                   std::int64_t stage, const std::filesystem::path& state);

// From the last state to what is handed in. `best` is the state at the end of
// best_epoch_in(last), or empty where that is 0.
Trained finish_job(const TrainingJob& job, const std::filesystem::path& last,
                   const std::filesystem::path& best);
// The best one before the last: from 1, or 0 if none was measured.
std::int64_t best_epoch_in(const std::filesystem::path& state);

// The digest of a state: steps, sums and scores, and all tensors by name; not
// the seconds that it took, nor where its files lay.
Digest digest_of_state(const std::filesystem::path& state);

}  // namespace weft::market
