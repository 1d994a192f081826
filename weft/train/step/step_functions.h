// The functions of a model that a step description has in memory.
//
// Threads: caller synchronises.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/runtime/jit/graph_function.h"
#include "weft/train/step/description.h"
#include "weft/train/step/model_functions.h"

namespace weft {

// The predictions, StepCut::kPredict, and what the task adds
// (TrainingTask::functions()). Each is staged when it is asked for, and reads
// the description's memory as it is when it runs. The model and the task
// outlive them.
ModelFunctions functions_of(const StepDescription& description);

// What the task adds, staged to be used: with the description's precision, and
// without what only training does.
std::map<std::string, GraphFunctionRef> task_functions(
    const StepDescription& description);

// The types of a batch of one example, with its label; pixels are numbers by
// then. Varying axes are as long as they can be.
std::vector<BatchInput> example_inputs(const DataDescription& data);

// While it lives, the model's parameters are the memory of the description,
// where averages may stand in for what is trained.
class InUseScope {
 public:
  explicit InUseScope(const StepDescription& description);
  ~InUseScope();
  InUseScope(const InUseScope&) = delete;
  InUseScope& operator=(const InUseScope&) = delete;

 private:
  std::vector<nn::ParameterRef> parameters_;
  std::vector<Tensor> before_;
};

}  // namespace weft
