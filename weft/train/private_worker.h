// The worker of differentially private training that is alone: noise is added
// between gradients and update (private_noise.h).
//
// Threads: caller synchronises.
#pragma once

#include <optional>

#include "weft/train/step/one_by_one.h"
#include "weft/train/step/private_noise.h"
#include "weft/train/step/single_worker.h"

namespace weft {

class PrivateWorker : public Worker {
 public:
  // The description's step is private (StepOptions::privacy), unless
  // `one_by_one_norm` is given: examples are then computed one by one, and
  // clipped to it.
  PrivateWorker(const StepDescription& description, const PrivateNoise& noise,
                std::optional<double> one_by_one_norm = {});

  WorkerTotals run(const Batch& batch, const WorkerStep& step) override;
  void reset_carried() override {}
  const std::vector<NamedTensor>& state() const override { return state_; }
  std::vector<NamedTensor> checkpoint() override { return state_; }
  const Function* function() const override { return &backward_.function(); }
  std::size_t step_bytes() override;
  std::string restore(const CheckpointFile& file) override {
    restore_alone(state_, file);
    return "";
  }

 private:
  PrivateWorker(StepDescription description, const PrivateNoise& noise,
                std::optional<double> one_by_one_norm,
                std::vector<Tensor> gradients);

  PrivateNoise noise_;
  std::vector<NamedTensor> state_;
  std::vector<Tensor> gradients_;
  std::optional<OneByOne> one_by_one_;
  Step backward_;
  Step update_;
};

}  // namespace weft
