#include "weft/train/step_graph.h"

#include "weft/autodiff/gradient.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/clip.h"
#include "weft/optim/row_gradient.h"
#include "weft/train/objective.h"

namespace weft {

BackwardValues stage_backward(nn::Layer& model, TaskKind task,
                              const nn::Staging& staged, const Value& key,
                              const Value& input, const Value& label,
                              DType dtype, const Value& weight) {
  const RandomKeyScope random(key);
  const PrecisionScope precision(dtype);
  // The mode of this moment goes into the graph: dropout and the statistics of
  // batches are settled while it is built.
  model.train(true);
  const Objective wanted = objective(model, task, input, label);
  const auto parameters = model.parameters();
  std::vector<Value> wrt;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    if (parameters[i].parameter->is_trainable()) {
      wrt.push_back(staged.arguments()[i]);
    }
  }
  // The weight scales gradients alone; the loss is reported as it is.
  const Value target = weight.is_defined() ? wanted.loss * weight : wanted.loss;
  return {wanted.loss, wanted.correct, gradients(target, wrt)};
}

void keep_touched_rows(const Optimizer& optimizer,
                       std::span<UpdateValues> updates, const Bindings& sizes) {
  // An optimizer that also moves rows without a gradient, as momentum does,
  // must see the whole table.
  if (!optimizer.keeps_without_gradient()) return;
  for (UpdateValues& update : updates) {
    const LayerScope scope("optimizer/" + update.name);
    const auto found = row_gradient(update.gradient, sizes);
    if (!found) continue;
    update.gradient = found->rows;
    update.indices = found->indices;
  }
}

void clip_updates(std::span<UpdateValues> updates, double max_norm) {
  std::vector<Value> gradients;
  for (const UpdateValues& update : updates) {
    gradients.push_back(update.gradient);
  }
  // Rows of a table that are left out are zeros, which add nothing to the norm.
  gradients = clip_by_global_norm(gradients, max_norm);
  for (std::size_t i = 0; i < updates.size(); ++i) {
    updates[i].gradient = gradients[i];
  }
}

void stage_update(const Optimizer& optimizer, std::span<UpdateValues> updates,
                  const Value& lr, const Value& step) {
  // What depends on the rate and the step alone, as Adam's bias corrections do,
  // is computed once for all parameters.
  const std::vector<Value> scalars = optimizer.scalars(lr, step);
  for (UpdateValues& update : updates) {
    const LayerScope scope("optimizer/" + update.name);
    Optimizer::Update next =
        update.indices.is_defined()
            ? update_rows(optimizer, update.parameter,
                          {update.gradient, update.indices}, update.slots,
                          scalars)
            : optimizer.update(update.parameter, update.gradient, update.slots,
                               scalars);
    update.parameter = std::move(next.parameter);
    update.slots = std::move(next.slots);
  }
}

}  // namespace weft
