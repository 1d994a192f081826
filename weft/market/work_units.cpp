#include "weft/market/work_units.h"

#include <algorithm>
#include <cmath>

#include "weft/graph/builder.h"
#include "weft/graph/program.h"
#include "weft/tensor/symbol.h"
#include "weft/train/assembly.h"
#include "weft/train/step/staged_step.h"
#include "weft/train/step/step_functions.h"

namespace weft::market {
namespace {

constexpr double kFlopsOfUnit = 1000;
constexpr double kPassesOfTraining = 3;

std::vector<TensorType> sized(std::vector<TensorType> types,
                              const Bindings& sizes) {
  for (TensorType& type : types) type.shape = substitute(type.shape, sizes);
  return types;
}

double flops_of(const Function& function, const Bindings& sizes) {
  double flops = 0;
  for (const Node& node : function.nodes()) {
    if (node.op->cost() == nullptr) continue;
    const auto inputs = sized(function.input_types(node), sizes);
    const auto outputs = sized(function.output_types(node), sizes);
    flops +=
        node.op->cost()({*node.op, inputs, node.attributes, outputs}).flops;
  }
  return flops;
}

}  // namespace

std::int64_t units_per_example(const Recipe& recipe,
                               const DataDescription& data,
                               const std::string& task) {
  const auto objective = make_task(recipe.task.name, recipe.task.options);
  objective->fit(data);
  const auto model =
      build_model(model_registry().get(recipe.model.name),
                  objective->model_input(data), recipe.model.options);
  model->initialize(/*seed=*/1);
  const StepDescription description(*model, *objective, example_inputs(data),
                                    step_options(recipe));
  Program program;
  FunctionBuilder& builder = program.builder(name_of(StepCut::kEvaluate));
  StagedStep staged(description, StepCut::kEvaluate, builder);
  Bindings sizes;  // of the batch of one example
  std::size_t input = 0;
  for (const Entry& entry : description.entries()) {
    if (entry.role != EntryRole::kInput) continue;
    match(entry.type.shape, description.inputs()[input++].type.shape, sizes);
  }
  const double flops =
      flops_of(builder.build([&] { return staged.compute(); }), sizes);
  const double passes = task == "inference" ? 1 : kPassesOfTraining;
  return std::max<std::int64_t>(
      1, std::llround(std::ceil(flops * passes / kFlopsOfUnit)));
}

}  // namespace weft::market
