// How good a model is once its training is over, by the weights that were best
// on held-out data.
#pragma once

#include <filesystem>
#include <vector>

#include "weft/train/assembly.h"
#include "weft/train/progress.h"
#include "weft/train/step/description.h"

namespace weft {

struct FinalScores {
  Scores test;
  std::vector<PredictionScore> predicted;  // also in `test`
};

// On the test data, or where there are none on what was held out, of which
// `best` are the scores already. `checkpoint` is where the best weights are:
// the memory of `description` holds them afterwards. Throws as CheckpointFile
// for one that is damaged.
FinalScores final_scores(const Recipe& recipe, const Assembly& assembly,
                         const StepDescription& description,
                         const std::filesystem::path& checkpoint, Scores best);

}  // namespace weft
