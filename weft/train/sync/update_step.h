// The second half of a training step: gradients in, parameters changed.
//
//   (parameters, gradients, slots, lr, step) -> (parameters', slots')
//
// Threads: caller synchronises.
// Cost:    a run allocates nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "weft/optim/optimizer.h"
#include "weft/runtime/executable.h"
#include "weft/train/safetensors.h"

namespace weft {

// A parameter that an UpdateStep changes in place, and where its gradient is.
struct UpdateTarget {
  std::string name;
  Tensor parameter;
  Tensor gradient;
};

class UpdateStep {
 public:
  // `clip_norm` above 0 clips all gradients together. The targets' tensors are
  // shared: runs read the gradients and overwrite the parameters.
  UpdateStep(const Optimizer& optimizer, std::vector<UpdateTarget> targets,
             double clip_norm);

  // Step number `step`, from 0.
  void run(double lr, std::int64_t step);

  // By slot_name(); the memory that the next run reads.
  const std::vector<NamedTensor>& slots() const { return slots_; }

 private:
  Executable stage(const Optimizer& optimizer,
                   const std::vector<UpdateTarget>& targets, double clip_norm);

  std::vector<NamedTensor> slots_;
  Tensor lr_;
  Tensor step_;
  std::vector<Tensor> arguments_;
  std::vector<Tensor> results_;
  Executable executable_;
};

}  // namespace weft
