#include "weft/compiler/fold_transposes.h"

#include <numeric>

#include "weft/base/index.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/axes.h"

namespace weft {
namespace {

// The node that makes `x`, if it is a transposition.
const Node* transposition(const FunctionBuilder& builder, const Value& x) {
  const auto id = static_cast<ValueId>(x.id());
  const Function& function = builder.function();
  if (function.is_parameter(id)) return nullptr;
  const Node& node = function.node(function.value(id).node);
  return node.op->name() == "transpose" ? &node : nullptr;
}

// Which axis of the operand each axis of the result is; none is negative.
Integers order_of(const Attributes& attributes, int rank) {
  Integers order = attributes.integers("permutation");
  for (std::int64_t& axis : order) axis = resolved_axis(axis, rank);
  if (order.empty()) {
    for (int axis = rank; axis-- > 0;) order.push_back(axis);
  }
  return order;
}

bool is_identity(const Integers& order) {
  Integers same(order.size());
  std::iota(same.begin(), same.end(), 0);
  return order == same;
}

}  // namespace

std::optional<Value> joined_transposes(FunctionBuilder& builder, const Value& x,
                                       const Attributes& attributes) {
  const Node* inner = transposition(builder, x);
  if (inner == nullptr) return std::nullopt;
  const int rank = x.shape().rank();
  const Integers first = order_of(inner->attributes, rank);
  Integers order;
  for (const std::int64_t axis : order_of(attributes, rank)) {
    order.push_back(first[at(axis)]);
  }
  const Value source(builder, inner->inputs[0]);
  if (is_identity(order)) return source;
  const ContextScope scope(builder);
  return transpose(source, order);
}

bool fold_transposes(FunctionBuilder& builder, std::vector<Value>& operands,
                     Attributes& attributes) {
  bool has_folded = false;
  // A stack of matrices against one is a single product of all rows, unless its
  // rows are the columns of each.
  const bool is_flat = operands[0].shape().rank() > 2 &&
                       operands[1].shape().rank() == 2 &&
                       !attributes.flag("transpose_a");
  for (const std::size_t i : {0u, 1u}) {
    if (i == 0 && is_flat) continue;
    const Node* node = transposition(builder, operands[i]);
    const int rank = operands[i].shape().rank();
    if (node == nullptr || rank < 2) continue;
    Integers order = order_of(node->attributes, rank);
    std::swap(order[at(rank - 1)], order[at(rank - 2)]);
    if (!is_identity(order)) continue;
    const char* flag = i == 0 ? "transpose_a" : "transpose_b";
    operands[i] = Value(builder, node->inputs[0]);
    attributes.set(flag, !attributes.flag(flag));
    has_folded = true;
  }
  return has_folded;
}

}  // namespace weft
