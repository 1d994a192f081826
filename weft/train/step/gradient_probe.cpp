#include "weft/train/step/gradient_probe.h"

namespace weft {
namespace {

// Memory of its own for each gradient, called as its parameter.
std::vector<NamedTensor> new_gradients(const StepDescription& description) {
  std::vector<NamedTensor> gradients;
  for (const auto& [name, tensor] :
       description.tensors(EntryRole::kParameter)) {
    gradients.push_back({name, Tensor::zeros(tensor.type())});
  }
  return gradients;
}

// The step writes them as they are: nothing is clipped.
StepDescription writing_to(const StepDescription& of_step,
                           const std::vector<NamedTensor>& gradients) {
  StepOptions options = of_step.options();
  options.clip_norm = 0;
  StepDescription description = of_step.with_options(options);
  std::vector<Tensor> memory;
  for (const NamedTensor& gradient : gradients) {
    memory.push_back(gradient.tensor);
  }
  description.set_gradients(memory);
  return description;
}

std::vector<NamedTensor> changed_by(const StepDescription& description) {
  std::vector<NamedTensor> changed;
  for (const Entry& entry : description.entries()) {
    const bool is_own =
        entry.role == EntryRole::kGradient || entry.role == EntryRole::kMeasure;
    if (!is_own && writes(StepCut::kGradients, entry.role)) {
      changed.push_back({entry.name, entry.memory});
    }
  }
  return changed;
}

}  // namespace

GradientProbe::GradientProbe(const StepDescription& description)
    : GradientProbe(description, new_gradients(description)) {}

GradientProbe::GradientProbe(const StepDescription& description,
                             std::vector<NamedTensor> gradients)
    : gradients_(std::move(gradients)),
      changed_(changed_by(description)),
      step_(writing_to(description, gradients_), StepCut::kGradients) {}

const std::vector<NamedTensor>& GradientProbe::run(
    std::span<const Tensor> inputs, const StepControls& controls) {
  std::vector<Tensor> before;
  for (const NamedTensor& each : changed_) {
    before.push_back(each.tensor.clone());
  }
  step_.run(inputs, controls);
  for (std::size_t i = 0; i < changed_.size(); ++i) {
    changed_[i].tensor.copy_from(before[i]);
  }
  return gradients_;
}

}  // namespace weft
