// The gradient of slices of one value is a sum of unslices, each as large as
// the whole. Where the slices share out an axis, as the gates of a recurrent
// cell do, it is their gradients' concat.
#include <algorithm>

#include "weft/compiler/pass.h"
#include "weft/graph/known_ops.h"
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
    if (*node.op == known::unslice) return add_unslice(node);
    // Additions nest: the gradient of four gates is a sum of sums. An add may
    // broadcast; a concat may not.
    return *node.op == known::add &&
           std::all_of(
               node.inputs.begin(), node.inputs.end(), [&](ValueId input) {
                 return function_.type(input) == function_.type(value) &&
                        add(input);
               });
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

std::optional<std::vector<Value>> join_slices(Rewriter& rewriter,
                                              OpApplication& application) {
  const Value& a = application.operands[0];
  const Value& b = application.operands[1];
  if (!(a.type() == b.type())) return std::nullopt;
  Parts parts(rewriter.function());
  if (!parts.add(static_cast<ValueId>(a.id())) ||
      !parts.add(static_cast<ValueId>(b.id())) || !parts.fill(a.shape())) {
    return std::nullopt;
  }
  std::vector<Value> values;
  for (const Part& part : parts.parts()) {
    values.emplace_back(rewriter, part.value);
  }
  const ContextScope scope(rewriter);
  return std::vector{concat(values, parts.axis())};
}

}  // namespace

void register_pass_join_slices(PassRegistry& passes) {
  passes.add({
      .name = "join_slices",
      .summary = "puts parts that fill an axis side by side, in place of zeros "
                 "that are added up",
      .order = 40,
      .ops = {"add"},
      // Additions of zero are left out: -0.0 + 0.0 is 0.0.
      .keeps_bits = false,
      .rewrite = join_slices,
      .samples =
          {{R"(func @f(%0: f32[2, 3], %1: f32[2, 5]) -> (f32[2, 8]) {
    %2 = unslice(%0) {begin = [0, 0], end = [2, 3], shape = shape[2, 8]} : f32[2, 8]
    %3 = unslice(%1) {begin = [0, 3], end = [2, 8], shape = shape[2, 8]} : f32[2, 8]
    %4 = add(%2, %3) : f32[2, 8]
    return %4
  })",
            R"(func @f(%0: f32[2, 3], %1: f32[2, 5]) -> (f32[2, 8]) {
    %2 = concat(%0, %1) {axis = 1} : f32[2, 8]
    return %2
  })"},
           // One row is repeated.
           {R"(func @f(%0: f32[2, 3], %1: f32[1, 2], %2: f32[2, 3]) -> (f32[2, 8]) {
    %3 = unslice(%0) {begin = [0, 0], end = [2, 3], shape = shape[2, 8]} : f32[2, 8]
    %4 = unslice(%1) {begin = [0, 3], end = [1, 5], shape = shape[1, 8]} : f32[1, 8]
    %5 = add(%3, %4) : f32[2, 8]
    %6 = unslice(%2) {begin = [0, 5], end = [2, 8], shape = shape[2, 8]} : f32[2, 8]
    %7 = add(%5, %6) : f32[2, 8]
    return %7
  })"},
           // These overlap.
           {R"(func @f(%0: f32[2, 4], %1: f32[2, 5]) -> (f32[2, 8]) {
    %2 = unslice(%0) {begin = [0, 0], end = [2, 4], shape = shape[2, 8]} : f32[2, 8]
    %3 = unslice(%1) {begin = [0, 3], end = [2, 8], shape = shape[2, 8]} : f32[2, 8]
    %4 = add(%2, %3) : f32[2, 8]
    return %4
  })"}},
  });
}

}  // namespace weft
