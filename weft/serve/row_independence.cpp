#include "weft/serve/row_independence.h"

#include <algorithm>
#include <functional>
#include <map>

#include "weft/graph/known_ops.h"
#include "weft/graph/text.h"
#include "weft/tensor/symbol.h"

namespace weft::serve {
namespace {

constexpr int kShared = -1;

// What a rule sees of a node: the axis of each operand that has the rows, or
// kShared.
struct Use {
  const Function& function;
  const Node& node;
  std::vector<int> axes;

  const Shape& shape(std::size_t input) const {
    return function.type(node.inputs[input]).shape;
  }
  int rank(std::size_t input) const { return shape(input).rank(); }
  bool is_shared(std::size_t input) const {
    return input >= axes.size() || axes[input] == kShared;
  }
  // Whether all operands from `first` on are shared.
  bool are_shared(std::size_t first) const {
    for (std::size_t i = first; i < axes.size(); ++i) {
      if (axes[i] != kShared) return false;
    }
    return true;
  }
  // The attribute, counted from the front of the first operand.
  int axis() const {
    return normalize_axis(node.attributes.integer("axis"), rank(0),
                          node.op->name());
  }
  // The axis of an operand's rows, counted from its end.
  int from_end(std::size_t input) const { return rank(input) - axes[input]; }
};

// Whether the op keeps rows apart. Where they are in its results follows from
// the types: a symbol that comes in once goes out once.
using Rule = std::function<bool(const Use&)>;

bool at_front(const Use& use) {
  return use.axes[0] == 0 && use.rank(0) > 1 && use.are_shared(1);
}

// Rows are not what is normalised over, or searched.
bool before_last(const Use& use) {
  return use.axes[0] >= 0 && use.axes[0] < use.rank(0) - 1 && use.are_shared(1);
}

bool beside_axis(const Use& use) {
  return std::ranges::all_of(use.axes, [&](int axis) {
    return axis == kShared || axis != use.axis();
  });
}

bool beside_axes(const Use& use) {
  const Integers& reduced = use.node.attributes.integers("axes");
  if (reduced.empty()) return false;
  return std::ranges::none_of(reduced, [&](std::int64_t axis) {
    return normalize_axis(axis, use.rank(0), "axes") == use.axes[0];
  });
}

// All operands with rows have them on the same place from the end.
bool aligned(const Use& use) {
  std::optional<int> place;
  for (std::size_t i = 0; i < use.axes.size(); ++i) {
    if (use.is_shared(i)) continue;
    if (place && *place != use.from_end(i)) return false;
    place = use.from_end(i);
  }
  return true;
}

bool same_axis(const Use& use) { return aligned(use) && beside_axis(use); }

bool in_product(const Use& use) {
  const bool a_turned = use.node.attributes.flag("transpose_a");
  const bool b_turned = use.node.attributes.flag("transpose_b");
  if (!use.are_shared(2) || use.rank(0) < 2 || use.rank(1) < 2) return false;
  const auto is_leading = [&](std::size_t i) { return use.from_end(i) > 2; };
  if (!use.is_shared(0) && !use.is_shared(1)) {
    return is_leading(0) && is_leading(1) && aligned(use);
  }
  // Rows may be those of the product, or its columns, but not what is summed.
  if (use.is_shared(1)) {
    return is_leading(0) || use.from_end(0) == (a_turned ? 1 : 2);
  }
  return is_leading(1) || use.from_end(1) == (b_turned ? 2 : 1);
}

bool in_attention(const Use& use) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (use.is_shared(i) || use.from_end(i) <= 2) return false;
  }
  if (!use.is_shared(3) && use.from_end(3) <= 2) return false;
  return aligned(use);
}

// x is [steps, batch, inputs], states are [batch, hidden].
bool in_recurrence(const Use& use, std::size_t states) {
  if (use.axes[0] != 1 || !use.are_shared(1 + states)) return false;
  for (std::size_t i = 1; i <= states; ++i) {
    if (use.axes[i] != 0) return false;
  }
  return true;
}

bool in_gather(const Use& use) {
  if (use.is_shared(0)) return true;
  return use.is_shared(1) && use.axes[0] != use.axis();
}

// The rows stay one axis, with the same elements before them.
bool in_reshape(const Use& use) {
  const Shape& from = use.shape(0);
  const Shape& to = use.function.type(use.node.outputs[0]).shape;
  const Dim rows = from[use.axes[0]];
  const Dim before = dim_product(from.first(use.axes[0]));
  for (int axis = 0; axis < to.rank(); ++axis) {
    if (to[axis] == rows) return dim_product(to.first(axis)) == before;
  }
  return false;
}

// All rows are taken, in their order.
bool in_slice(const Use& use) {
  const auto axis = static_cast<std::size_t>(use.axes[0]);
  const Integers& steps = use.node.attributes.integers("steps");
  const Shape& to = use.function.type(use.node.outputs[0]).shape;
  return use.node.attributes.integers("begin")[axis] == 0 &&
         (steps.empty() || steps[axis] == 1) &&
         to[use.axes[0]] == use.shape(0)[use.axes[0]];
}

bool in_pad(const Use& use) {
  const auto axis = static_cast<std::size_t>(use.axes[0]);
  return use.node.attributes.integers("low")[axis] == 0 &&
         use.node.attributes.integers("high")[axis] == 0;
}

bool in_tile(const Use& use) {
  const Integers& repeats = use.node.attributes.integers("repeats");
  return repeats[repeats.size() - static_cast<std::size_t>(use.from_end(0))] ==
         1;
}

bool always(const Use&) { return true; }

const std::map<const OpDef*, Rule>& rules() {
  static const std::vector<std::pair<const char*, Rule>> named = {
      {"argmax", beside_axis},
      {"argmin", beside_axis},
      {"attention", in_attention},
      {"avg_pool", at_front},
      {"batch_norm_infer", before_last},
      {"broadcast_to", always},
      {"concat", same_axis},
      {"conv2d", at_front},
      {"cumprod", beside_axis},
      {"cumsum", beside_axis},
      {"dequantize", before_last},
      {"fake_quantize", before_last},
      {"gather", in_gather},
      {"group_norm", at_front},
      {"gru", [](const Use& use) { return in_recurrence(use, 1); }},
      {"integer_conv2d", at_front},
      {"integer_matmul", in_product},
      {"layer_norm", before_last},
      {"linear_recurrence", same_axis},
      {"log_softmax", beside_axis},
      {"lstm", [](const Use& use) { return in_recurrence(use, 2); }},
      {"matmul", in_product},
      {"max_pool", at_front},
      {"one_hot", always},
      {"pad", in_pad},
      {"pick", same_axis},
      {"quantize", before_last},
      {"reshape", in_reshape},
      {"resize", at_front},
      {"rms_norm", before_last},
      {"slice", in_slice},
      {"softmax", beside_axis},
      {"sort", beside_axis},
      {"split", beside_axis},
      {"stop_gradient", always},
      {"tile", in_tile},
      {"top_k", beside_axis},
      {"transpose", always},
  };
  static const auto all = [] {
    std::map<const OpDef*, Rule> found;
    for (const auto& [name, rule] : named) {
      found.emplace(&op_registry().get(name), rule);
    }
    for (const char* name :
         {"all", "any", "max", "mean", "min", "prod", "sum"}) {
      found.emplace(&op_registry().get(name), beside_axes);
    }
    return found;
  }();
  return all;
}

class Walk {
 public:
  Walk(const Function& function, Dim rows)
      : function_(function), axes_(function.value_count(), kShared) {
    one_.bind(rows, 1);
    rows_ = rows;
  }

  void set(ValueId id, int axis) { axes_[static_cast<std::size_t>(id)] = axis; }
  int axis(ValueId id) const { return axes_[static_cast<std::size_t>(id)]; }

  // Whether the node keeps rows apart; notes where its results have them.
  bool pass(const Node& node) {
    Use use{function_, node, {}};
    for (const ValueId id : node.inputs) use.axes.push_back(axis(id));
    if (use.are_shared(0) ? !repeats(node) : !keeps_apart(use)) return false;
    for (const ValueId id : node.outputs) {
      if (!note(id)) return false;
      // What is made of rows and has none would pass for shared, though one
      // request's numbers are in it.
      if (!use.are_shared(0) && axis(id) == kShared) return false;
    }
    return true;
  }

 private:
  bool mentions(const Shape& shape) const {
    return substitute(shape, one_) != shape;
  }

  // A node without rows may make as many as there are if all are the same.
  bool repeats(const Node& node) const {
    const OpDef& op = *node.op;
    if (op == known::full || op == known::broadcast_to) return true;
    return std::ranges::none_of(node.attributes, [&](const auto& each) {
      const auto* shape = std::get_if<Shape>(&each.second);
      return shape != nullptr && mentions(*shape);
    });
  }

  static bool keeps_apart(const Use& use) {
    if (use.node.op->has(kElementwise)) return aligned(use);
    const auto found = rules().find(use.node.op);
    return found != rules().end() && found->second(use);
  }

  // A value has the rows as one whole axis, or not at all.
  bool note(ValueId id) {
    const Shape& shape = function_.type(id).shape;
    if (!mentions(shape)) return true;
    const Dim* found = std::find(shape.begin(), shape.end(), rows_);
    if (found == shape.end()) return false;
    const int at = static_cast<int>(found - shape.begin());
    Shape rest = shape;
    rest[at] = 1;
    if (mentions(rest)) return false;
    set(id, at);
    return true;
  }

  const Function& function_;
  std::vector<int> axes_;
  Bindings one_;
  Dim rows_;
};

bool is_plain(Dim dim) {
  return is_symbolic(dim) && std::ranges::all_of(to_string(dim), [](char c) {
           return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
         });
}

}  // namespace

std::optional<Dim> row_symbol(const Function& function, std::size_t arguments,
                              std::size_t results) {
  std::optional<Dim> rows;
  const auto agrees = [&](ValueId id) {
    const Shape& shape = function.type(id).shape;
    if (shape.is_scalar() || !is_plain(shape[0])) return false;
    if (!rows) rows = shape[0];
    return shape[0] == *rows;
  };
  const auto& in = function.parameters();
  const auto& out = function.results();
  if (arguments == 0 || results == 0 ||
      !std::all_of(in.begin(), in.begin() + static_cast<long>(arguments),
                   agrees) ||
      !std::all_of(out.begin(), out.begin() + static_cast<long>(results),
                   agrees)) {
    return std::nullopt;
  }
  return rows;
}

std::optional<std::string> rows_depend(const Function& function, Dim rows,
                                       std::size_t arguments,
                                       std::size_t results) {
  Walk walk(function, rows);
  for (std::size_t i = 0; i < arguments; ++i) {
    const ValueId id = function.parameters()[i];
    if (std::ranges::count(function.type(id).shape.dims(), rows) != 1) {
      return fmt::format("'{}' has the number of rows twice in its shape",
                         function.value(id).name);
    }
    walk.set(id, 0);
  }
  for (const Node& node : function.nodes()) {
    if (!walk.pass(node)) {
      return fmt::format("{} may mix rows: {}", node.op->name(),
                         to_string(function, node));
    }
  }
  for (std::size_t i = 0; i < results; ++i) {
    if (walk.axis(function.results()[i]) != 0) {
      return fmt::format("result {} has no row for each row of the arguments",
                         i);
    }
  }
  return std::nullopt;
}

}  // namespace weft::serve
