// A training loop of one's own: a recipe's step, and everything around it by
// hand.
#pragma once

#include <fmt/core.h>
#include <string>

#include "weft/train/recipe_step.h"

namespace weft::examples {

// Trains until held-out data have not become better for two epochs, keeps the
// best weights in `checkpoint`, and returns what they reach.
inline double train_until_it_stalls(const Recipe& recipe,
                                    const std::string& checkpoint) {
  RecipeStep step(recipe);
  double best = 0;
  int stalled = 0;  // epochs
  while (stalled < 2) {
    for (std::int64_t i = 0; i < step.batches_per_epoch(); ++i) {
      step.train(step.next().tensors);
    }
    const double accuracy = step.evaluate().get("accuracy");
    fmt::print("step {}  accuracy {:.4f}\n", step.steps_done(), accuracy);
    ++stalled;
    if (accuracy <= best) continue;
    best = accuracy;
    stalled = 0;
    step.save(checkpoint);
  }
  return best;
}

}  // namespace weft::examples
