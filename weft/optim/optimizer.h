// How a step of training changes its parameters.
//
// An optimizer is a pure function written with Values, so it runs staged inside
// the training step as well as eagerly. It sees all parameters of a step at
// once, with their gradients, and what it remembers (slots) goes in and comes
// out. Most are one formula for each parameter by itself: parameter_rule.h.
// Others wrap an optimizer: wrapper.h.
//
// Threads: immutable.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/ranges.h"
#include "weft/base/registry.h"
#include "weft/graph/value.h"

namespace weft {

// A parameter before its first step.
struct ParameterInfo {
  std::string name;  // "stage1.0.conv1.weight"
  TensorType type;
};

// What is remembered from step to step.
struct Slot {
  std::string name;  // "velocity"
  TensorType type;
  double initial = 0;
  // Starts as the parameter itself, and not as `initial`.
  bool is_copy = false;
  // Stands in for the parameter where the model is used: measured, asked for
  // predictions, handed on. Has its type, as an average of it.
  bool stands_in = false;
};

// One parameter in a step: update() replaces it and its slots by the next ones.
struct ParameterStep {
  std::string name;
  Value parameter;
  Value gradient;
  std::vector<Value> slots;  // as slots() declares them, in order
};

struct StepTime {
  Value lr;      // f32[], what the schedule says
  Value number;  // f64[], of the step, counted from 1
  // f64[], by how many updates the gradients are late: they are of the
  // parameters before so many. Undefined where they never are.
  Value late = {};
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;

  // What it remembers of a parameter.
  virtual std::vector<Slot> slots(const ParameterInfo&) const { return {}; }
  // What it remembers once for all parameters.
  virtual std::vector<Slot> shared_slots() const { return {}; }

  // Replaces parameters and slots, and the values of shared_slots(), by the
  // next ones. Gradients may be replaced too: they are read by nobody else.
  virtual void update(std::span<ParameterStep> parameters,
                      std::span<Value> shared, const StepTime& time) const = 0;

  // Whether a row of that parameter stays as it is, with its slots, where all
  // of its gradient is zero, and else becomes what it, its gradient and its
  // slots say, which have the parameter's shape. Then rows of a table that got
  // none need not be visited (row_gradient.h).
  virtual bool keeps_without_gradient(std::string_view /*parameter*/) const {
    return false;
  }
  // Whether an element and its slots, which have the parameter's shape, become
  // what they, its gradient and the step's time say, and no other element.
  virtual bool is_elementwise() const { return false; }
  // Whether what one parameter becomes depends on other parameters' gradients.
  // Those of a part of the model alone then mean something else.
  virtual bool sees_all_parameters() const { return false; }
  // Whether a parameter becomes something else under another name.
  virtual bool looks_at_names() const { return false; }
  // Whether a gradient acts in later steps too.
  virtual bool has_momentum() const { return false; }
  // Whether how far it moves follows from how large gradients were. One of a
  // part of the batch, where parts are applied one by one, is then given as the
  // mean over that part, and not scaled by its share.
  virtual bool measures_sizes() const { return false; }
};

// "optimizer.SLOT.PARAMETER", and "optimizer.SLOT" of what is shared: the names
// in checkpoints.
std::string slot_name(const Slot& slot, std::string_view parameter = {});
// Which of its slots stands in for a parameter, if one does. Throws
// Error(kInvalidArgument) where several want to.
std::optional<std::size_t> stand_in(const Optimizer& optimizer,
                                    const ParameterInfo& parameter);
// The name in checkpoints of what the model is used with in place of a
// parameter: of the slot that stands in for it, else its own.
std::string used_name(const Optimizer& optimizer,
                      const ParameterInfo& parameter);
// The first value of a slot of `parameter`; undefined for a shared one.
Tensor initial_slot(const Slot& slot, const Tensor& parameter = {});

struct OptimizerDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options;  // beside "lr", which all have
  double default_lr = 0.01;
  // `options` are complete, and what they may be.
  std::unique_ptr<Optimizer> (*make)(const Options& options) = nullptr;
};

using OptimizerRegistry = Registry<OptimizerDef>;
// It is filled from the files of weft/optim/optimizers.
const OptimizerRegistry& optimizer_registry();

// The named optimizer with its options checked and completed.
std::unique_ptr<Optimizer> make_optimizer(std::string_view name,
                                          const Options& options);

}  // namespace weft
