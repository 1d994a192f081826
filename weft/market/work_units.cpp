#include "weft/market/work_units.h"

#include <cmath>

#include "weft/graph/builder.h"
#include "weft/graph/program.h"
#include "weft/train/assembly.h"
#include "weft/train/step/staged_step.h"
#include "weft/train/step/step_functions.h"

namespace weft::market {
namespace {

constexpr double kFlopsOfUnit = 1000;
constexpr double kPassesOfTraining = 3;

double flops_of(const Function& function) {
  double flops = 0;
  for (const Node& node : function.nodes()) {
    if (node.op->cost() == nullptr) continue;
    const std::vector<TensorType> inputs = function.input_types(node);
    const std::vector<TensorType> outputs = function.output_types(node);
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
  const double flops =
      flops_of(builder.build([&] { return staged.compute(); }));
  const double passes = task == "inference" ? 1 : kPassesOfTraining;
  return std::max<std::int64_t>(
      1, std::llround(std::ceil(flops * passes / kFlopsOfUnit)));
}

}  // namespace weft::market
