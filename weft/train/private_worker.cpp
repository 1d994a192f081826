#include "weft/train/private_worker.h"

#include <algorithm>

namespace weft {
namespace {

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
                             const PrivateNoise& noise,
                             std::optional<double> one_by_one_norm)
    : PrivateWorker(description, noise, one_by_one_norm,
                    gradient_memory(description)) {}

PrivateWorker::PrivateWorker(StepDescription description,
                             const PrivateNoise& noise,
                             std::optional<double> one_by_one_norm,
                             std::vector<Tensor> gradients)
    : noise_(noise),
      state_(description.state()),
      gradients_(std::move(gradients)),
      backward_(with_gradients(description, gradients_), StepCut::kGradients),
      update_(with_gradients(description, gradients_), StepCut::kUpdate) {
  if (one_by_one_norm) one_by_one_.emplace(gradients_, *one_by_one_norm);
}

WorkerTotals PrivateWorker::run(const Batch& batch, const WorkerStep& step) {
  WorkerTotals totals{
      .have_met = true, .sums = {}, .is_stopping = step.wants_stop};
  if (one_by_one_) {
    totals.sums = one_by_one_->run(backward_, batch, step.number, 0);
  } else if (batch.size == 0) {
    // A batch that nobody joined gets its noise all the same.
    for (Tensor& gradient : gradients_) {
      std::ranges::fill(gradient.span<float>(), 0.0F);
    }
    totals.sums = MeasureSums(backward_.measures().ratios().size());
  } else {
    backward_.run(batch.tensors,
                  {.number = step.number, .present = batch.size});
    totals.sums = backward_.measures();
  }
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    noise_.add(gradients_[i].span<float>(), step.number, i);
  }
  update_.run({}, {.lr = step.lr, .number = step.number});
  return totals;
}

std::size_t PrivateWorker::step_bytes() {
  const std::size_t update = update_.plan().arena_bytes();
  // What branches, loops or calls takes memory as it goes.
  return backward_.is_tagged() ? update
                               : update + backward_.plan().arena_bytes();
}

}  // namespace weft
