// The gradients of a training step, computed beside it, for people to look at:
// a step that updates in place never holds all of them.
//
// Threads: caller synchronises.
// Cost:    a forward and a backward pass, and the memory of both and of the
//          gradients.
#pragma once

#include "weft/train/step/step.h"

namespace weft {

class GradientProbe {
 public:
  // `description` is that of the training step.
  explicit GradientProbe(const StepDescription& description);

  // Returns those of the trainable parameters, by their names, as these are
  // now: what the step on these inputs with these controls computes before it
  // clips and updates. Whatever else a run changes, as statistics and what is
  // carried, is put back. Holds until the next call.
  const std::vector<NamedTensor>& run(std::span<const Tensor> inputs,
                                      const StepControls& controls);

 private:
  GradientProbe(const StepDescription& description,
                std::vector<NamedTensor> gradients);

  std::vector<NamedTensor> gradients_;
  std::vector<NamedTensor> changed_;  // beside gradients, by a run
  Step step_;
};

}  // namespace weft
