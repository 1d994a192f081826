#include "weft/compiler/causal_mask.h"

#include "weft/graph/registry.h"

namespace weft {
namespace {

// Which keys a mask is true for.
enum class Seen { kUnknown, kUpToQuery, kLater };

// How the place of a key, on the left, is compared with that of a query.
enum class Order { kLess, kLessEqual, kGreater, kGreaterEqual };

struct Comparison {
  const OpDef& op;
  Order order;
  Order reversed;
};

const std::vector<Comparison>& comparisons() {
  static const std::vector<Comparison> all = {
      {op_registry().get("less"), Order::kLess, Order::kGreater},
      {op_registry().get("less_equal"), Order::kLessEqual,
       Order::kGreaterEqual},
      {op_registry().get("greater"), Order::kGreater, Order::kLess},
      {op_registry().get("greater_equal"), Order::kGreaterEqual,
       Order::kLessEqual}};
  return all;
}

const Node* node_of(const Function& function, ValueId id) {
  return function.is_parameter(id) ? nullptr
                                   : &function.node(function.value(id).node);
}

// What stands below reshapes that keep the last two axes, and only add or drop
// axes of 1 before them.
ValueId without_leading_axes(const Function& function, ValueId id) {
  static const OpDef& reshape = op_registry().get("reshape");
  for (const Node* node = node_of(function, id);
       node != nullptr && node->op == &reshape; node = node_of(function, id)) {
    const Shape& from = function.type(node->inputs[0]).shape;
    const Shape& to = function.type(id).shape;
    if (from.rank() < 2 || to.rank() < 2 ||
        Shape(from.last(2)) != Shape(to.last(2))) {
      break;
    }
    id = node->inputs[0];
  }
  return id;
}

// Whether it is 0, 1, 2, … along the axis that stands `from_end` axes before
// the last, and has 1 in all others.
bool is_place(const Function& function, ValueId id, int from_end) {
  static const OpDef& reshape = op_registry().get("reshape");
  static const OpDef& iota = op_registry().get("iota");
  const Shape& shape = function.type(id).shape;
  const int axis = shape.rank() - 1 - from_end;
  // Places of other dtypes are rounded, or begin again.
  const DType dtype = function.type(id).dtype;
  if (dtype != DType::kI64 && dtype != DType::kI32) return false;
  if (axis < 0 || shape[axis] < 2 || shape[axis] != shape.num_elements()) {
    return false;
  }
  const Node* node = node_of(function, id);
  while (node != nullptr && node->op == &reshape) {
    node = node_of(function, node->inputs[0]);
  }
  return node != nullptr && node->op == &iota;
}

Seen seen_by(const Function& function, ValueId mask) {
  static const OpDef& logical_not = op_registry().get("logical_not");
  const Node* node = node_of(function, without_leading_axes(function, mask));
  bool is_inverted = false;
  for (; node != nullptr && node->op == &logical_not;
       node =
           node_of(function, without_leading_axes(function, node->inputs[0]))) {
    is_inverted = !is_inverted;
  }
  if (node == nullptr) return Seen::kUnknown;
  for (const Comparison& each : comparisons()) {
    if (node->op != &each.op) continue;
    Order order = each.order;
    if (is_place(function, node->inputs[0], 1) &&
        is_place(function, node->inputs[1], 0)) {
      order = each.reversed;
    } else if (!is_place(function, node->inputs[0], 0) ||
               !is_place(function, node->inputs[1], 1)) {
      return Seen::kUnknown;
    }
    // Without its own place the first query would see nothing.
    if (order == Order::kLess || order == Order::kGreaterEqual) {
      return Seen::kUnknown;
    }
    const bool is_later = (order == Order::kGreater) != is_inverted;
    return is_later ? Seen::kLater : Seen::kUpToQuery;
  }
  return Seen::kUnknown;
}

}  // namespace

bool is_true_up_to_query(const Function& function, ValueId mask) {
  return seen_by(function, mask) == Seen::kUpToQuery;
}

bool is_true_for_later_keys(const Function& function, ValueId mask) {
  return seen_by(function, mask) == Seen::kLater;
}

}  // namespace weft
