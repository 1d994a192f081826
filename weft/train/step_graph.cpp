#include "weft/train/step_graph.h"

#include "weft/autodiff/gradient.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/optim/clip.h"
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

void clip_gradients(std::span<ParameterStep> parameters, double max_norm) {
  std::vector<Value> gradients;
  for (const ParameterStep& step : parameters) {
    gradients.push_back(step.gradient);
  }
  // Rows of a table that are left out are zeros, which add nothing to the norm.
  gradients = clip_by_global_norm(gradients, max_norm);
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    parameters[i].gradient = gradients[i];
  }
}

}  // namespace weft
