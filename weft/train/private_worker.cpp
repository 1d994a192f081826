#include "weft/train/private_worker.h"

#include <algorithm>

#include "weft/privacy/noise/noise.h"

namespace weft {
namespace {

// The streams of a key that noise has: those of PoissonOrder are below. No two
// thousands of numbers have the same one.
constexpr std::uint64_t kNoiseStreams = std::uint64_t{1} << 63;
constexpr int kChunkBits = 20;
constexpr int kParameterBits = 16;
constexpr int kStepBits = 27;

std::uint64_t noise_stream(std::uint64_t step, std::uint64_t parameter) {
  WEFT_CHECK(step >> kStepBits == 0 && parameter >> kParameterBits == 0,
             "a run of so many steps, or a model of so many parameters, would "
             "draw the same noise twice");
  return kNoiseStreams | step << (kParameterBits + kChunkBits) |
         parameter << kChunkBits;
}

std::vector<Tensor> gradient_memory(const StepDescription& description) {
  std::vector<Tensor> memory;
  for (const auto& each : description.updated()) {
    memory.push_back(Tensor::zeros(description.entries()[each.parameter].type));
  }
  return memory;
}

StepDescription with_gradients(StepDescription description,
                               const std::vector<Tensor>& gradients) {
  description.set_gradients(gradients);
  return description;
}

}  // namespace

PrivateWorker::PrivateWorker(const StepDescription& description,
                             const PrivateWorkerOptions& options)
    : PrivateWorker(description, options, gradient_memory(description)) {}

PrivateWorker::PrivateWorker(StepDescription description,
                             const PrivateWorkerOptions& options,
                             std::vector<Tensor> gradients)
    : options_(options),
      state_(description.state()),
      gradients_(std::move(gradients)),
      backward_(with_gradients(description, gradients_), StepCut::kGradients),
      update_(with_gradients(description, gradients_), StepCut::kUpdate) {}

WorkerTotals PrivateWorker::run(const Batch& batch, const WorkerStep& step) {
  backward_.run(batch.tensors, {.number = step.number, .present = batch.size});
  add_noise(step.number);
  update_.run({}, {.lr = step.lr, .number = step.number});
  return {.have_met = true,
          .sums = backward_.measures(),
          .is_stopping = step.wants_stop};
}

void PrivateWorker::add_noise(std::int64_t number) {
  const bool is_last = (number + 1) % options_.parts == 0;
  // The optimizer takes the mean of the parts (accumulate).
  const auto scale = static_cast<float>(static_cast<double>(options_.parts) /
                                        options_.expected_batch);
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    const std::span values(gradients_[i].data<float>(),
                           static_cast<std::size_t>(gradients_[i].size()));
    if (is_last) {
      privacy::add_gaussian(values, options_.deviation, options_.key,
                            noise_stream(static_cast<std::uint64_t>(number),
                                         static_cast<std::uint64_t>(i)));
    }
    for (float& value : values) value *= scale;
  }
}

}  // namespace weft
