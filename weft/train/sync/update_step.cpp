#include "weft/train/sync/update_step.h"

#include "weft/graph/builder.h"
#include "weft/train/step_graph.h"

namespace weft {

UpdateStep::UpdateStep(const Optimizer& optimizer,
                       std::vector<UpdateTarget> targets, double clip_norm)
    : lr_(Tensor::scalar(0, DType::kF32)),
      step_(Tensor::scalar(0, DType::kF64)),
      // stage() fills the lists and reads the scalars, all of which are
      // declared before executable_.
      executable_(stage(optimizer, targets, clip_norm)) {}

Executable UpdateStep::stage(const Optimizer& optimizer,
                             const std::vector<UpdateTarget>& targets,
                             double clip_norm) {
  FunctionBuilder builder("update_step");
  ExecutableOptions settings;
  std::vector<ParameterStep> updates;
  // Takes a tensor as a parameter; a `result` overwrites it.
  const auto take = [&](const Tensor& tensor, const std::string& name,
                        bool is_result) {
    if (is_result) {
      settings.donated.emplace_back(arguments_.size(), results_.size());
      results_.push_back(tensor);
    }
    arguments_.push_back(tensor);
    return builder.parameter(tensor.type(), name);
  };
  const auto take_slot = [&](const Slot& slot, const NamedTensor& of) {
    slots_.push_back({slot_name(slot, of.name), initial_slot(slot, of.tensor)});
    return take(slots_.back().tensor, slots_.back().name, true);
  };
  for (const UpdateTarget& target : targets) {
    ParameterStep update;
    update.name = target.name;
    update.parameter = take(target.parameter, target.name, true);
    // Gradients are only read: their memory is that of the buckets, which the
    // next step writes anew.
    update.gradient = take(target.gradient, "gradient." + target.name, false);
    for (const Slot& slot :
         optimizer.slots({target.name, target.parameter.type()})) {
      update.slots.push_back(take_slot(slot, {target.name, target.parameter}));
    }
    updates.push_back(std::move(update));
  }
  std::vector<Value> shared;
  for (const Slot& slot : optimizer.shared_slots()) {
    shared.push_back(take_slot(slot, {}));
  }
  const Value lr = take(lr_, "lr", false);
  const Value step = take(step_, "step", false);
  Function function = builder.build([&] {
    // The gradients are sums over all workers here, so clipping is as one
    // worker would do it.
    if (clip_norm > 0) clip_gradients(updates, clip_norm);
    optimizer.update(updates, shared, {lr, step});
    std::vector<Value> results;
    for (const ParameterStep& update : updates) {
      results.push_back(update.parameter);
      results.insert(results.end(), update.slots.begin(), update.slots.end());
    }
    results.insert(results.end(), shared.begin(), shared.end());
    return results;
  });
  return Executable(std::move(function), std::move(settings));
}

void UpdateStep::run(double lr, std::int64_t step) {
  lr_.data<float>()[0] = static_cast<float>(lr);
  // Optimizers count from 1, as the bias corrections of Adam do.
  step_.data<double>()[0] = static_cast<double>(step + 1);
  executable_.run(arguments_, results_);
}

}  // namespace weft
