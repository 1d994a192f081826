#include "weft/train/step/step_functions.h"

#include "weft/nn/scope.h"
#include "weft/train/step/mode_scope.h"
#include "weft/train/step/step.h"

namespace weft {

InUseScope::InUseScope(const StepDescription& description) {
  // The model's values come first among the entries, and in its order.
  std::size_t place = 0;
  for (const auto& [name, parameter] : description.model()->parameters()) {
    const Entry& entry = description.entries()[place++];
    WEFT_CHECK(entry.name == name, "entries in another order than the model's");
    parameters_.push_back(parameter);
    before_.push_back(parameter->variable.tensor());
    parameter->variable.set_tensor(entry.memory);
  }
}

InUseScope::~InUseScope() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i]->variable.set_tensor(before_[i]);
  }
}

std::map<std::string, GraphFunctionRef> task_functions(
    const StepDescription& description) {
  const InUseScope in_use(description);
  const PrecisionScope precision(description.options().dtype);
  const RecurrentWeightsScope weights(description.options().recurrent_weights);
  const ModeScope mode(*description.model(), /*is_training=*/false);
  return description.task()->functions(*description.model());
}

ModelFunctions functions_of(const StepDescription& description) {
  return [description](std::string_view name) -> ModelFunction {
    if (name == kPredictFunction) {
      return
          [step = std::make_shared<Step>(description, StepCut::kPredict)](
              std::span<const Tensor> known) { return step->predict(known); };
    }
    const auto functions = task_functions(description);
    const auto found = functions.find(std::string(name));
    WEFT_CHECK(found != functions.end(), "the task has no such function");
    return [description,
            function = found->second](std::span<const Tensor> arguments) {
      const InUseScope in_use(description);
      std::vector<Tensor> results;
      for (const Value& result : function->call(
               std::vector<Value>(arguments.begin(), arguments.end()))) {
        results.push_back(result.tensor());
      }
      return results;
    };
  };
}

std::vector<BatchInput> example_inputs(const DataDescription& data) {
  std::vector<BatchInput> inputs;
  for (const Feature& feature : data.features()) {
    BatchInput input{feature.name, {feature.type.dtype, {1}}};
    for (const Dim dim : feature.type.shape) input.type.shape.push_back(dim);
    for (const int axis : feature.varying) input.varying.push_back(axis + 1);
    // Loaders turn the pixels of images into numbers.
    const bool is_image = inputs.empty() && feature.type.shape.rank() == 3 &&
                          feature.type.dtype == DType::kU8;
    if (is_image) input.type.dtype = DType::kF32;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace weft
