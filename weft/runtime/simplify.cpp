#include "weft/runtime/simplify.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "weft/graph/function_copy.h"
#include "weft/graph/inlining.h"
#include "weft/graph/kernel.h"
#include "weft/graph/phases.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/runtime/join_slices.h"

namespace weft {
namespace {

bool has_kernel(const OpCall& call) {
  const auto& candidates = kernel_registry().candidates(call.op.name());
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const KernelCandidate& candidate) {
                       return !candidate.declines || !candidate.declines(call);
                     });
}

// Ops that return their first operand unchanged when its type is right.
bool is_identity(const OpDef& op, const TensorType& input,
                 const TensorType& output) {
  if (!(input == output)) return false;
  return op.has(kView) || op.name() == "cast" || op.name() == "broadcast_to";
}

// True if `shape`, broadcast to `whole`, repeats along all of `axes`.
bool repeats_along(const Shape& shape, const Shape& whole,
                   const Integers& axes) {
  const auto is_one = [&](int axis) {
    const int own = axis - (whole.rank() - shape.rank());
    return own < 0 || shape[own] == 1;
  };
  if (axes.empty()) return shape.num_elements() == 1;
  return std::all_of(axes.begin(), axes.end(), [&](std::int64_t axis) {
    return is_one(normalize_axis(axis, whole.rank(), "sum"));
  });
}

class SimplifyingBuilder : public FunctionBuilder {
 public:
  SimplifyingBuilder(std::string name, bool may_reassociate)
      : FunctionBuilder(std::move(name), /*lower_composites=*/false),
        may_reassociate_(may_reassociate) {}

  std::vector<Value> apply(const OpDef& op,
                           std::span<const Value* const> inputs,
                           const Attributes& attributes,
                           const Location& location) override {
    std::vector<TensorType> types;
    std::vector<Value> arguments;
    std::string key = op.name() + "(";
    for (const Value* input : inputs) {
      arguments.emplace_back(*this, id_of(*input));
      types.push_back(arguments.back().type());
      key += fmt::format("{},", arguments.back().id());
    }
    const Attributes complete = op.complete(attributes);
    const auto outputs = op.infer_types(types, complete);
    // Each enter leaves an activation of its own (graph/phases.h).
    if (leaves_activation(op)) {
      return FunctionBuilder::apply(op, inputs, complete, location);
    }
    if (!inputs.empty() && !outputs.empty() &&
        is_identity(op, types[0], outputs[0])) {
      return {arguments[0]};
    }
    if (op.lower() != nullptr && !has_kernel({op, types, complete, outputs})) {
      LayerScope scope(location.scope);
      ContextScope context(*this);
      return op.lower()(complete, arguments);
    }
    if (may_reassociate_ && op.name() == "add") {
      if (auto joined = joined_slices(*this, arguments[0], arguments[1])) {
        return {*joined};
      }
    }
    if (may_reassociate_ && op.name() == "sum") {
      if (auto hoisted = hoist_factor(arguments[0], complete)) {
        return {*hoisted};
      }
    }
    key += to_string(complete);
    const auto [entry, is_new] = known_.try_emplace(std::move(key));
    if (is_new) {
      std::vector<const Value*> pointers;
      for (const Value& argument : arguments) pointers.push_back(&argument);
      entry->second = FunctionBuilder::apply(op, pointers, complete, location);
    }
    return entry->second;
  }

 private:
  // sum(a * c) is sum(a) * c where c does not change along the summed axes:
  // the gradients of a normalisation then share their sums.
  std::optional<Value> hoist_factor(const Value& x,
                                    const Attributes& attributes) {
    const auto id = static_cast<ValueId>(x.id());
    if (function().is_parameter(id)) return std::nullopt;
    const Node product = function().node(function().value(id).node);
    if (product.op->name() != "multiply") return std::nullopt;
    const Integers& axes = attributes.integers("axes");
    for (const std::size_t n : {0u, 1u}) {
      const Value factor(*this, product.inputs[n]);
      const Value rest(*this, product.inputs[1 - n]);
      if (!(rest.shape() == x.shape()) || factor.shape() == x.shape() ||
          !repeats_along(factor.shape(), x.shape(), axes)) {
        continue;
      }
      ContextScope context(*this);
      const bool keep = attributes.flag("keep_dims");
      const Value total = sum(rest, axes, /*keep_dims=*/true);
      const Value scaled = total * factor;
      if (keep && scaled.shape() == total.shape()) return scaled;
      return reshape(scaled, sum(rest, axes, keep).shape());
    }
    return std::nullopt;
  }

  bool may_reassociate_;
  std::unordered_map<std::string, std::vector<Value>> known_;
};

}  // namespace

Function simplify(const Function& function, bool may_reassociate) {
  SimplifyingBuilder builder(function.name(), may_reassociate);
  return eliminate_dead_nodes(
      builder.build([&] { return rebuild(builder, function); }));
}

Function eliminate_dead_nodes(const Function& function) {
  std::vector<bool> is_used(function.value_count(), false);
  const auto use = [&](ValueId id) {
    is_used[static_cast<std::size_t>(id)] = true;
  };
  const auto is_live = [&](const Node& node) {
    return std::any_of(
        node.outputs.begin(), node.outputs.end(),
        [&](ValueId id) { return is_used[static_cast<std::size_t>(id)]; });
  };
  for (const ValueId id : function.results()) use(id);
  for (auto node = function.nodes().rbegin(); node != function.nodes().rend();
       ++node) {
    if (!is_live(*node)) continue;
    for (const ValueId id : node->inputs) use(id);
  }
  FunctionCopy copy(function, function.name());
  copy.add_parameters();
  for (const Node& node : function.nodes()) {
    if (is_live(node)) copy.add_node(node);
  }
  return copy.finish();
}

}  // namespace weft
