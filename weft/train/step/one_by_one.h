// The sum of the gradients of a batch's examples, each clipped by itself, where
// they are computed one after the other: for models of which many examples
// cannot be computed at once (private_objective.h is the faster way). A step
// costs what as many steps on one example do.
//
// Threads: caller synchronises.
#pragma once

#include <vector>

#include "weft/data/batch_source.h"
#include "weft/train/step/step.h"

namespace weft {

class OneByOne {
 public:
  // `gradients` are the memory that the description of the step has for them.
  OneByOne(std::vector<Tensor> gradients, double clip_norm);

  // Runs `step`, a kGradients that is not private, on each example of `batch`
  // that counts, and leaves the sum where the gradients are. `first` is the
  // place of the first example in the batch of all workers, by which each draws
  // numbers of its own. Returns what the examples measure together. Throws
  // Error(kNumeric) naming an example whose gradients are not finite.
  MeasureSums run(Step& step, const Batch& batch, std::int64_t number,
                  std::int64_t first);

 private:
  // Adds the gradients that the last run has left to `sums_`; false where they
  // are not finite.
  bool add_clipped();
  void load(const Batch& batch, std::int64_t row);

  std::vector<Tensor> gradients_;
  double clip_norm_;
  std::vector<std::vector<double>> sums_;  // by gradient
  std::vector<Tensor> example_;            // a batch of one
};

}  // namespace weft
