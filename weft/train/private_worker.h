// The worker of differentially private training: noise is added between
// gradients and update.
//
//   g = (Σᵢ gᵢ min(1, C / ‖gᵢ‖) + N(0, σ²C²)) / expected batch
//
// The noise of a step is a function of the run's key and the step's number, so
// that a run which is resumed adds what it would have, and tells nothing more.
//
// Threads: caller synchronises.
#pragma once

#include "weft/privacy/noise/secret_key.h"
#include "weft/train/step/single_worker.h"

namespace weft {

struct PrivateWorkerOptions {
  double deviation = 1;  // of the noise: σC
  // Examples of a batch that are expected; gradients are divided by it.
  double expected_batch = 1;
  // Runs that make a batch together, each with some of its examples; the last
  // one adds the noise.
  std::int64_t parts = 1;
  SecretKey key;
};

class PrivateWorker : public Worker {
 public:
  // The description's step is private (StepOptions::privacy).
  PrivateWorker(const StepDescription& description,
                const PrivateWorkerOptions& options);

  WorkerTotals run(const Batch& batch, const WorkerStep& step) override;
  void reset_carried() override {}
  const std::vector<NamedTensor>& state() const override { return state_; }
  std::vector<NamedTensor> checkpoint() override { return state_; }
  const Function* function() const override { return &backward_.function(); }
  std::size_t step_bytes() override {
    return backward_.plan().arena_bytes() + update_.plan().arena_bytes();
  }
  std::string restore(const CheckpointFile& file) override {
    restore_alone(state_, file);
    return "";
  }

 private:
  PrivateWorker(StepDescription description,
                const PrivateWorkerOptions& options,
                std::vector<Tensor> gradients);
  void add_noise(std::int64_t number);

  PrivateWorkerOptions options_;
  std::vector<NamedTensor> state_;
  std::vector<Tensor> gradients_;
  Step backward_;
  Step update_;
};

}  // namespace weft
