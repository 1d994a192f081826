#include "weft/compiler/rewriter.h"

#include <algorithm>
#include <functional>

#include "weft/base/hash.h"
#include "weft/compiler/pass.h"
#include "weft/graph/phases.h"

namespace weft {
namespace {

std::size_t hash_of(const OpApplication& application) {
  std::size_t hash = hash_with(weft::hash_of(application.attributes),
                               std::hash<const OpDef*>{}(&application.op));
  for (const Value& operand : application.operands) {
    // Operands are values of the function being built, so that equal numbers
    // are equal values.
    hash = hash_with(hash, static_cast<std::uint64_t>(operand.id()));
  }
  return hash;
}

}  // namespace

std::vector<TensorType> OpApplication::operand_types() const {
  std::vector<TensorType> types;
  for (const Value& operand : operands) types.push_back(operand.type());
  return types;
}

const KernelCandidate* kernel_for(const OpApplication& application) {
  const std::vector<TensorType> types = application.operand_types();
  const OpCall call{application.op, types, application.attributes,
                    application.outputs};
  for (const auto& candidate :
       kernel_registry().candidates(application.op.name())) {
    // Candidates come in the order in which a plan asks them.
    if (!candidate.declines || !candidate.declines(call)) return &candidate;
  }
  return nullptr;
}

Rewriter::Rewriter(std::string name, std::vector<const PassDef*> rewrites)
    : FunctionBuilder(std::move(name), /*lower_composites=*/false),
      rewrites_(std::move(rewrites)) {}

std::vector<Value> Rewriter::apply(const OpDef& op,
                                   std::span<const Value* const> inputs,
                                   const Attributes& attributes,
                                   const Location& location) {
  std::vector<Value> operands;
  std::vector<TensorType> types;
  for (const Value* input : inputs) {
    operands.emplace_back(*this, id_of(*input));
    types.push_back(operands.back().type());
  }
  Attributes complete = op.complete(attributes);
  // Each enter leaves an activation of its own (graph/phases.h), and code of
  // the program may do more than compute.
  if (leaves_activation(op) || op.has(kHost)) {
    return FunctionBuilder::apply(op, inputs, complete, location);
  }
  // Rewrites look at types, and a rewrite that made a mistake is found where it
  // was made.
  std::vector<TensorType> outputs = op.infer_types(types, complete);
  OpApplication application{op, std::move(operands), std::move(complete),
                            std::move(outputs), location};
  for (const PassDef* pass : rewrites_for(op)) {
    if (auto results = pass->rewrite(*this, application)) return *results;
  }
  return emit(application);
}

const std::vector<const PassDef*>& Rewriter::rewrites_for(const OpDef& op) {
  // The list is made once for each op, as functions have thousands of nodes and
  // few kinds of them.
  const auto [place, is_new] = by_op_.try_emplace(&op);
  if (!is_new) return place->second;
  for (const PassDef* pass : rewrites_) {
    const std::vector<std::string>& ops = pass->ops;
    if (ops.empty() ||
        std::find(ops.begin(), ops.end(), op.name()) != ops.end()) {
      place->second.push_back(pass);
    }
  }
  return place->second;
}

const Node* Rewriter::node_of(const Value& value) const {
  const auto id = static_cast<ValueId>(value.id());
  if (function().is_parameter(id)) return nullptr;
  return &function().node(function().value(id).node);
}

std::vector<Value> Rewriter::equal_to(const OpApplication& application) {
  std::vector<ValueId> ids;
  for (const Value& operand : application.operands) {
    ids.push_back(static_cast<ValueId>(operand.id()));
  }
  // Different applications may have one hash, so that each candidate is
  // compared.
  const auto [first, last] = known_.equal_range(hash_of(application));
  for (auto entry = first; entry != last; ++entry) {
    const Node& node = function().node(entry->second);
    if (node.op != &application.op || node.inputs != ids ||
        !(node.attributes == application.attributes)) {
      continue;
    }
    std::vector<Value> outputs;
    for (const ValueId id : node.outputs) outputs.emplace_back(*this, id);
    return outputs;
  }
  return {};
}

std::vector<Value> Rewriter::emit(const OpApplication& application) {
  std::vector<const Value*> pointers;
  for (const Value& operand : application.operands) {
    pointers.push_back(&operand);
  }
  auto outputs = FunctionBuilder::apply(
      application.op, pointers, application.attributes, application.location);
  known_.emplace(hash_of(application),
                 static_cast<NodeId>(function().nodes().size()) - 1);
  return outputs;
}

}  // namespace weft
