// What a step of differentially private training computes from a batch: the sum
// of the gradients of its examples, each clipped by itself, and the same
// measures as any step (DP-SGD: Abadi et al., "Deep Learning with Differential
// Privacy", CCS 2016). Noise is added outside of it (train/private_worker.h).
//
// Threads: as FunctionBuilder.
#pragma once

#include <vector>

#include "weft/train/step/description.h"
#include "weft/train/step/example_sums.h"
#include "weft/train/step/objective.h"

namespace weft {

// Throws Error(kInvalidArgument) for a model whose examples influence each
// other, by statistics of a batch or by what is carried to the next.
void require_examples_apart(const StepDescription& description);

struct PrivateObjective {
  std::vector<Measure> measures;
  // They are of the updated parameters of the description.
  std::vector<Value> gradients;
  Value broken;  // as ExampleSums::broken() tells
};

// Within the function being built, in its mode and precision. What examples
// share is the model, in the order of its parameters.
//
// Throws as require_examples_apart(), and Error(kUnsupported) naming an op that
// cannot be computed for each example alone.
PrivateObjective private_objective(const StepDescription& description,
                                   const PrivateBatch& batch);

}  // namespace weft
