#include "weft/compiler/join_slices.h"

#include <algorithm>

#include "weft/ops/join.h"
#include "weft/ops/support/slicing.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// A slice of an axis, and what stands there.
struct Part {
  Dim begin;
  Dim size;
  ValueId value;
};

class Parts {
 public:
  explicit Parts(const Function& function) : function_(function) {}

  // Collects the parts of a sum; false if it has other terms.
  bool add(ValueId value) {
    if (function_.is_parameter(value)) return false;
    const Node& node = function_.node(function_.value(value).node);
    if (node.op->name() == "unslice") return add_unslice(node);
    // Additions nest: the gradient of four gates is a sum of sums.
    return node.op->name() == "add" &&
           std::all_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId input) { return add(input); });
  }

  // Whether they fill the axis, in order.
  bool fill(const Shape& whole) {
    std::sort(parts_.begin(), parts_.end(),
              [](const Part& a, const Part& b) { return a.begin < b.begin; });
    Dim end = 0;
    for (const Part& part : parts_) {
      // A gap would have to be filled with zeros, an overlap to be added.
      if (part.begin != end) return false;
      end += part.size;
    }
    return axis_ >= 0 && end == whole[axis_];
  }

  int axis() const { return axis_; }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  bool add_unslice(const Node& node) {
    const auto inputs = function_.input_types(node);
    const Shape& whole = function_.type(node.outputs[0]).shape;
    const auto ranges =
        slice_ranges({*node.op, inputs, node.attributes}, whole);
    int cut = -1;
    for (int axis = 0; axis < whole.rank(); ++axis) {
      const SliceRange& range = ranges[static_cast<std::size_t>(axis)];
      // An axis that is taken whole does not cut.
      if (range.begin == 0 && range.size == whole[axis]) continue;
      if (cut >= 0 || range.step != 1 || is_symbolic(range.begin) ||
          is_symbolic(range.size)) {
        return false;
      }
      cut = axis;
    }
    if (cut < 0 || (axis_ >= 0 && axis_ != cut)) return false;
    axis_ = cut;
    const SliceRange& range = ranges[static_cast<std::size_t>(cut)];
    total_ += range.size;
    if (range.size == 0 || total_ > whole[cut]) return false;  // they overlap
    parts_.push_back({range.begin, range.size, node.inputs[0]});
    return true;
  }

  const Function& function_;
  int axis_ = -1;
  Dim total_ = 0;
  std::vector<Part> parts_;
};

}  // namespace

std::optional<Value> joined_slices(FunctionBuilder& builder, const Value& a,
                                   const Value& b) {
  // An add may broadcast; a concat may not.
  if (!(a.type() == b.type())) return std::nullopt;
  Parts parts(builder.function());
  if (!parts.add(static_cast<ValueId>(a.id())) ||
      !parts.add(static_cast<ValueId>(b.id())) || !parts.fill(a.shape())) {
    return std::nullopt;
  }
  std::vector<Value> values;
  for (const Part& part : parts.parts()) {
    values.emplace_back(builder, part.value);
  }
  const ContextScope scope(builder);
  return concat(values, parts.axis());
}

}  // namespace weft
