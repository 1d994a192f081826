#include "weft/runtime/tagged/scalar_program.h"

#include <cstring>
#include <set>

#include "weft/graph/registry.h"

namespace weft {
namespace {

constexpr std::size_t kMostNodes = 64;

// Ops of which every kernel gives the same bits. abs is none: kernels differ in
// the sign of zero.
bool computes_exactly(const OpDef& op) {
  static const auto exact = [] {
    std::set<const OpDef*> ops;
    for (const char* name :
         {"add",        "subtract",    "multiply",      "divide",
          "maximum",    "minimum",     "negate",        "square",
          "relu",       "equal",       "not_equal",     "less",
          "less_equal", "greater",     "greater_equal", "logical_and",
          "logical_or", "logical_xor", "logical_not",   "where"}) {
      ops.insert(&op_registry().get(name));
    }
    return ops;
  }();
  return exact.contains(&op);
}

bool is_plain(const TensorType& type) {
  return type.shape.is_scalar() && type.dtype != DType::kF16 &&
         type.dtype != DType::kBF16;
}

// Such a node is a constant, which is computed once.
bool is_fixed(const Node& node) {
  return node.inputs.empty() && !node.op->has(kRandom);
}

bool is_exact(const Node& node) {
  if (node.op->reference() == nullptr) return false;
  return is_fixed(node) || computes_exactly(*node.op);
}

}  // namespace

std::optional<ScalarProgram> ScalarProgram::of(const Function& function) {
  if (function.nodes().size() > kMostNodes) return std::nullopt;
  for (std::size_t id = 0; id < function.value_count(); ++id) {
    if (!is_plain(function.type(static_cast<ValueId>(id)))) return std::nullopt;
  }
  for (const Node& node : function.nodes()) {
    if (!is_exact(node)) return std::nullopt;
  }
  ScalarProgram program;
  // The registers are as many as they ever will be: steps point into them, and
  // a vector that is moved keeps its memory.
  program.registers_.resize(function.value_count());
  const auto view = [&](ValueId id) {
    return TensorView{function.type(id),
                      &program.registers_[static_cast<std::size_t>(id)]};
  };
  program.parameter_count_ = function.parameters().size();
  for (const Node& node : function.nodes()) {
    Step step{node.op,
              node.attributes,
              function.input_types(node),
              function.output_types(node),
              {},
              {}};
    for (const ValueId id : node.inputs) step.inputs.push_back(view(id));
    for (const ValueId id : node.outputs) step.outputs.push_back(view(id));
    // What is fixed lies in its register for all runs.
    if (is_fixed(node)) {
      run(step);
    } else {
      program.steps_.push_back(std::move(step));
    }
  }
  for (const ValueId id : function.results()) {
    program.results_.push_back(static_cast<std::size_t>(id));
  }
  return program;
}

void ScalarProgram::run(const Step& step) noexcept {
  step.op->reference()(
      {*step.op, step.input_types, step.attributes, step.output_types},
      step.inputs, step.outputs);
}

void ScalarProgram::run() noexcept {
  for (const Step& step : steps_) run(step);
}

}  // namespace weft
