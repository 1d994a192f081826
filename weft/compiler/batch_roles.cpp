#include "weft/compiler/batch_roles.h"

#include <algorithm>
#include <map>

#include "weft/base/error.h"
#include "weft/graph/known_ops.h"
#include "weft/graph/registry.h"

namespace weft {
namespace {

// How an op goes along the leading axis of its first operand.
struct OpRole {
  std::size_t each_inputs;  // the first so many; all others are shared
  std::vector<BatchRoles::Result> results;  // the last one stands for the rest
};

constexpr std::size_t kAll = Shape::kMaxRank + (std::size_t{1} << 20);

const std::map<const OpDef*, OpRole>& op_roles() {
  static const auto* roles = [] {
    auto* all = new std::map<const OpDef*, OpRole>;
    const auto add = [&](const char* op, OpRole role) {
      all->emplace(&op_registry().get(op), std::move(role));
    };
    using R = BatchRoles;
    add("conv2d", {1, {R::kEach}});
    add("conv2d_input_gradient", {1, {R::kEach}});
    add("conv2d_weight_gradient", {2, {R::kSum}});
    add("moments", {1, {R::kMean, R::kVariance}});
    add("concat", {kAll, {R::kEach}});
    add("dynamic_update_slice", {2, {R::kEach}});
    add("split", {kAll, {R::kEach}});
    add("slice", {kAll, {R::kEach}});
    add("avg_pool", {kAll, {R::kEach}});
    add("avg_pool_gradient", {kAll, {R::kEach}});
    add("max_pool", {kAll, {R::kEach}});
    add("max_pool_scatter", {kAll, {R::kEach}});
    add("max_pool_gather", {kAll, {R::kEach}});
    return all;
  }();
  return *roles;
}

// A list of rows is rarely worth cutting, a batch of one cannot be cut, and
// examples without elements fill no chunk.
bool can_be_cut(const Shape& shape) {
  return shape.rank() >= 3 && shape[0] >= 2 && shape.num_elements() > 0;
}

// Whether an op that moves elements leaves the leading axis as it is.
bool keeps_examples(const Function& function, const Node& node) {
  const TensorType& x = function.type(node.inputs[0]);
  if (const Attribute* axis = node.attributes.find("axis")) {
    return normalize_axis(std::get<std::int64_t>(*axis), x.shape.rank(),
                          node.op->name()) != 0;
  }
  if (*node.op == known::dynamic_update_slice) {
    // A slice of all examples begins at the first, whatever starts say.
    return function.type(node.inputs[1]).shape[0] == x.shape[0] &&
           function.type(node.inputs[2]).shape.rank() == 1;
  }
  if (node.attributes.find("begin") == nullptr) return true;
  const Integers& steps = node.attributes.integers("steps");
  return function.type(node.outputs[0]).shape[0] == x.shape[0] &&
         node.attributes.integers("begin")[0] == 0 &&
         (steps.empty() || steps[0] == 1);
}

// Sums of chunks are added in the dtype of the result, which narrow ones are
// too coarse for.
bool may_be_cut(BatchRoles::Result result, DType dtype) {
  return result == BatchRoles::kEach || dtype == DType::kF32 ||
         dtype == DType::kF64;
}

std::optional<BatchRoles> roles_of_node(const Function& function,
                                        const Node& node) {
  const auto found = op_roles().find(node.op);
  if (found == op_roles().end()) return std::nullopt;
  const TensorType& x = function.type(node.inputs[0]);
  if (!can_be_cut(x.shape) || !keeps_examples(function, node)) {
    return std::nullopt;
  }
  BatchRoles roles{x.shape[0], {}, {}};
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    roles.is_each.push_back(i < found->second.each_inputs);
  }
  const auto& results = found->second.results;
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    roles.results.push_back(results[std::min(i, results.size() - 1)]);
    if (!may_be_cut(roles.results[i], function.type(node.outputs[i]).dtype)) {
      return std::nullopt;
    }
  }
  return roles;
}

bool is_each(const Shape& shape, const Shape& loop) {
  return shape.rank() == loop.rank() && shape[0] == loop[0];
}

std::optional<BatchRoles> roles_of_loop(const PlanStep& step) {
  const LoopProgram& program = *step.loop;
  if (!can_be_cut(program.shape)) return std::nullopt;
  BatchRoles roles{program.shape[0], {}, {}};
  for (const std::size_t input : step.loop_inputs) {
    roles.is_each.push_back(
        is_each(program.inputs[input].type.shape, program.shape));
  }
  for (const LoopProgram::Output& output : program.outputs) {
    // A sum over axes of one element keeps the examples apart.
    if (output.is_sum &&
        output.type.shape.num_elements() == program.shape.num_elements()) {
      return std::nullopt;
    }
    roles.results.push_back(output.is_sum ? BatchRoles::kSum
                                          : BatchRoles::kEach);
    if (!may_be_cut(roles.results.back(), output.type.dtype)) {
      return std::nullopt;
    }
  }
  return roles;
}

}  // namespace

bool BatchRoles::has_only_parts() const {
  return std::all_of(results.begin(), results.end(),
                     [](Result result) { return result == kEach; });
}

std::optional<BatchRoles> batch_roles(const Function& function,
                                      const PlanStep& step) {
  if (step.loop) return roles_of_loop(step);
  if (step.nodes.size() != 1) return std::nullopt;
  return roles_of_node(function, function.node(step.nodes.front()));
}

LoopProgram with_examples(LoopProgram program, Dim examples) {
  const Shape loop = program.shape;
  for (LoopProgram::Input& input : program.inputs) {
    if (is_each(input.type.shape, loop)) input.type.shape[0] = examples;
  }
  for (LoopProgram::Output& output : program.outputs) {
    // A mean is a sum times a factor that counts the whole batch: it stays.
    if (!output.is_sum) output.type.shape[0] = examples;
  }
  program.shape[0] = examples;
  return program;
}

CallOfExamples with_examples(const Function& function, const Node& node,
                             const BatchRoles& roles, Dim examples) {
  CallOfExamples call{function.input_types(node), function.output_types(node),
                      node.attributes};
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (roles.is_each[i]) call.inputs[i].shape[0] = examples;
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (roles.results[i] == BatchRoles::kEach) {
      call.outputs[i].shape[0] = examples;
    }
  }
  // What says how many examples there are says it anew.
  for (auto& [name, value] : call.attributes) {
    if (roles.results[0] != BatchRoles::kEach) break;
    if (auto* shape = std::get_if<Shape>(&value)) (*shape)[0] = examples;
    if (name == "end") std::get<Integers>(value)[0] = examples;
  }
  WEFT_CHECK(node.op->infer_types(call.inputs, call.attributes) == call.outputs,
             "{} does not go along a batch", node.op->name());
  return call;
}

}  // namespace weft
