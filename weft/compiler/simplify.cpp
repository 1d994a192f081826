#include "weft/compiler/simplify.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <unordered_map>

#include "weft/base/hash.h"
#include "weft/compiler/fold_transposes.h"
#include "weft/compiler/join_slices.h"
#include "weft/graph/function_copy.h"
#include "weft/graph/inlining.h"
#include "weft/graph/kernel.h"
#include "weft/graph/phases.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// The candidate that takes the call, or null.
const KernelCandidate* kernel_of(const OpCall& call) {
  for (const auto& candidate : kernel_registry().candidates(call.op.name())) {
    // Candidates come in the order in which a plan asks them.
    if (!candidate.declines || !candidate.declines(call)) return &candidate;
  }
  return nullptr;
}

bool is_half(const Value& x) {
  return x.dtype() == DType::kBF16 || x.dtype() == DType::kF16;
}

// Ops that return their first operand unchanged when its type is right.
bool is_identity(const OpDef& op, const TensorType& input,
                 const TensorType& output) {
  if (!(input == output)) return false;
  // An op that only renames or repeats does nothing where the type stays.
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
    for (const Value* input : inputs) {
      arguments.emplace_back(*this, id_of(*input));
      types.push_back(arguments.back().type());
    }
    const Attributes complete = op.complete(attributes);
    const auto outputs = op.infer_types(types, complete);
    // Each enter leaves an activation of its own (graph/phases.h), and code of
    // the program may do more than compute.
    if (leaves_activation(op) || op.has(kHost)) {
      return FunctionBuilder::apply(op, inputs, complete, location);
    }
    // A view that also reads other values is there for their order
    // (ops/after.h).
    if (inputs.size() == 1 && !outputs.empty() &&
        is_identity(op, types[0], outputs[0])) {
      return {arguments[0]};
    }
    const KernelCandidate* kernel = kernel_of({op, types, complete, outputs});
    if (op.lower() != nullptr && kernel == nullptr) {
      // What it lowers to comes back here, op by op, and is simplified in turn.
      LayerScope scope(location.scope);
      ContextScope context(*this);
      return op.lower()(complete, arguments);
    }
    if (kernel != nullptr && kernel->widens) {
      return apply_widened(op, std::move(arguments), complete, outputs,
                           location);
    }
    // Neither of these keeps every bit: one leaves out additions of zero, the
    // other adds before it multiplies.
    if (may_reassociate_ && op.name() == "add") {
      if (auto joined = joined_slices(*this, arguments[0], arguments[1])) {
        return {*joined};
      }
    }
    if (op.name() == "transpose") {
      if (auto joined = joined_transposes(*this, arguments[0], complete)) {
        return {*joined};
      }
    }
    // The kernel of another layout may add in another order.
    if (may_reassociate_ && op.name() == "matmul") {
      Attributes folded = complete;
      if (fold_transposes(*this, arguments, folded)) {
        return numbered(op, arguments, folded, location);
      }
    }
    if (may_reassociate_ && op.name() == "sum") {
      if (auto hoisted = hoist_factor(arguments[0], complete)) {
        return {*hoisted};
      }
    }
    return numbered(op, arguments, complete, location);
  }

 private:
  // The op in f32, between casts: what producers and readers of an operand
  // have in common is cast once, in the loop that makes it.
  std::vector<Value> apply_widened(const OpDef& op, std::vector<Value> operands,
                                   const Attributes& attributes,
                                   std::span<const TensorType> outputs,
                                   const Location& location) {
    LayerScope scope(location.scope);
    ContextScope context(*this);
    std::vector<const Value*> pointers;
    for (Value& operand : operands) {
      if (is_half(operand)) operand = cast(operand, DType::kF32);
      pointers.push_back(&operand);
    }
    std::vector<Value> results = apply(op, pointers, attributes, location);
    for (std::size_t i = 0; i < results.size(); ++i) {
      results[i] = cast(results[i], outputs[i].dtype);
    }
    return results;
  }

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
      // The product must take its shape from the other operand, or the sum of
      // that one would be over fewer elements.
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

  // The node, or an equal one that is there already (value numbering): the same
  // op, attributes, and operands, which were numbered before it.
  std::vector<Value> numbered(const OpDef& op, std::span<const Value> operands,
                              const Attributes& attributes,
                              const Location& location) {
    std::size_t hash =
        hash_with(hash_of(attributes), std::hash<const OpDef*>{}(&op));
    std::vector<ValueId> ids;
    std::vector<const Value*> pointers;
    for (const Value& operand : operands) {
      ids.push_back(static_cast<ValueId>(operand.id()));
      pointers.push_back(&operand);
      hash = hash_with(hash, static_cast<std::uint64_t>(operand.id()));
    }
    const auto [first, last] = known_.equal_range(hash);
    for (auto entry = first; entry != last; ++entry) {
      const Node& node = function().node(entry->second);
      if (node.op == &op && node.inputs == ids &&
          node.attributes == attributes) {
        return outputs_of(node);
      }
    }
    auto outputs = FunctionBuilder::apply(op, pointers, attributes, location);
    known_.emplace(hash, static_cast<NodeId>(function().nodes().size()) - 1);
    return outputs;
  }

  std::vector<Value> outputs_of(const Node& node) {
    std::vector<Value> outputs;
    for (const ValueId id : node.outputs) outputs.emplace_back(*this, id);
    return outputs;
  }

  bool may_reassociate_;
  std::unordered_multimap<std::size_t, NodeId> known_;  // by hash
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
  // Code of the program may do more than compute, so it runs even if nobody
  // reads what it gives.
  const auto is_live = [&](const Node& node) {
    return node.op->has(kHost) ||
           std::any_of(node.outputs.begin(), node.outputs.end(),
                       [&](ValueId id) {
                         return is_used[static_cast<std::size_t>(id)];
                       });
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
