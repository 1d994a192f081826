#include "weft/ops/join.h"

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

void concat_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const Shape& whole = outputs[0].shape();
  const int axis = resolved_axis(call.attributes.integer("axis"), whole.rank());
  auto ranges = full_ranges(whole);
  for (const TensorView& x : inputs) {
    for_each_placed(x.shape(), whole, ranges,
                    [&](std::int64_t part, std::int64_t place) {
                      copy_element(outputs[0], place, x, part);
                    });
    // Each operand begins where the one before it ended.
    ranges[at(axis)].begin += x.shape()[axis];
  }
}

void split_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const Shape& whole = inputs[0].shape();
  const int axis = resolved_axis(call.attributes.integer("axis"), whole.rank());
  auto ranges = full_ranges(whole);
  for (const TensorView& y : outputs) {
    for_each_placed(y.shape(), whole, ranges,
                    [&](std::int64_t part, std::int64_t place) {
                      copy_element(y, part, inputs[0], place);
                    });
    ranges[at(axis)].begin += y.shape()[axis];
  }
}

// The result has the period of x's dims along each axis.
void tile_reference(const OpCall&, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const Shape& shape = inputs[0].shape();
  const auto strides = row_major_strides(shape);
  for_each_index(
      outputs[0].shape(), [&](std::int64_t i, const MultiIndex& index) {
        std::int64_t source = 0;
        for (int axis = 0; axis < shape.rank(); ++axis) {
          source += index[at(axis)] % shape[axis] * strides[at(axis)];
        }
        copy_element(outputs[0], i, inputs[0], source);
      });
}

std::vector<TensorType> infer_concat(const OpCall& call) {
  require_one_dtype(call);
  TensorType y = call.input(0);
  const int axis =
      checked_axis(call, call.attributes.integer("axis"), y.shape.rank());
  for (std::size_t i = 1; i < call.inputs.size(); ++i) {
    Shape other = call.input(i).shape;
    bool fits = other.rank() == y.shape.rank();
    if (fits) {
      // A symbolic dim is added by its name: "N" and 3 make "N+3".
      const Dim sum = dim_add(y.shape[axis], other[axis]);
      y.shape[axis] = other[axis] = sum;
      // With the joined axis made equal, all others have to be.
      fits = other == y.shape;
    }
    if (!fits) {
      throw call.error("operands 0 and {} differ in more than axis {}", i,
                       axis);
    }
  }
  return {y};
}

std::vector<TensorType> infer_split(const OpCall& call) {
  const TensorType& x = call.input(0);
  const Integers& sizes = call.attributes.integers("sizes");
  const int axis =
      checked_axis(call, call.attributes.integer("axis"), x.shape.rank());
  std::vector<TensorType> parts;
  // Every element must be in some part, or the transpose would not know what to
  // put in its place.
  Dim total = 0;
  for (const std::int64_t size : sizes) {
    if (size < 0) throw call.error("a part has size {}", size);
    parts.push_back(x);
    parts.back().shape[axis] = size;
    total = dim_add(total, size);
  }
  // The sizes are numbers, so the axis has to be one too.
  if (parts.empty() || total != x.shape[axis]) {
    throw call.error("the parts add up to {}, but axis {} has {}", total, axis,
                     to_string(x.shape[axis]));
  }
  return parts;
}

std::vector<TensorType> infer_tile(const OpCall& call) {
  TensorType y = call.input(0);
  const Integers& repeats = call.attributes.integers("repeats");
  if (repeats.size() != at(y.shape.rank())) {
    throw call.error("repeats need one entry for each of {} axes",
                     y.shape.rank());
  }
  for (int axis = 0; axis < y.shape.rank(); ++axis) {
    if (repeats[at(axis)] < 1) {
      throw call.error("axis {} is repeated {} times", axis, repeats[at(axis)]);
    }
    y.shape[axis] = dim_multiply(y.shape[axis], repeats[at(axis)]);
  }
  return {y};
}

// Each operand's part of the result, counted from whichever end is known.
Gradients concat_gradient(const GradientContext& g) {
  const int rank = g.y().shape().rank();
  const int axis = resolved_axis(g.attributes().integer("axis"), rank);
  Gradients gradients;
  // `before` and `after` are how many elements of the joined axis lie on either
  // side of an operand.
  Dim before = 0;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    const Dim end = dim_add(before, g.x(i).shape()[axis]);
    const Dim after = dim_subtract(g.y().shape()[axis], end);
    const bool has_start = !is_symbolic(before);
    // A slice counts from the beginning or from the end by a number: one of the
    // two distances has to be known.
    if ((!has_start && is_symbolic(dim_add(after, g.x(i).shape()[axis]))) ||
        (is_symbolic(end) && is_symbolic(after))) {
      throw Error(ErrorCode::kUnsupported, "concat",
                  "the gradient of operand {} needs to know more dims of axis "
                  "{}",
                  i, axis);
    }
    const std::int64_t first =
        has_start ? before : -dim_add(after, g.x(i).shape()[axis]);
    // Where nothing stands after it, -0 would be the beginning.
    const std::int64_t last = !is_symbolic(end) ? end
                              : after == 0      ? kToEnd
                                                : -after;
    gradients.push_back(slice_axis(g.dy(), axis, first, last));
    before = end;
  }
  return gradients;
}

Gradients split_gradient(const GradientContext& g) {
  const auto parts = g.attributes().integers("sizes").size();
  std::vector<Value> gradients;
  for (std::size_t i = 0; i < parts; ++i) {
    // A part that no gradient arrived at still has its place.
    gradients.push_back(g.dy(i).is_defined() ? g.dy(i) : zeros_like(g.y(i)));
  }
  return {concat(gradients, g.attributes().integer("axis"))};
}

// Splits each repeated axis into (repeats, dim) and sums the repeats.
// Row-major, an element (r, i) of the split axis is the element r dim + i of
// the repeated one.
Gradients tile_gradient(const GradientContext& g) {
  const Shape& shape = g.x(0).shape();
  const Integers& repeats = g.attributes().integers("repeats");
  Shape split_up;
  Integers axes;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (repeats[at(axis)] != 1) {
      axes.push_back(split_up.rank());
      split_up.push_back(repeats[at(axis)]);
    }
    // An axis that is not repeated needs no split; with all of them, the rank
    // could exceed what a shape may have.
    split_up.push_back(shape[axis]);
  }
  if (axes.empty()) return {g.dy()};
  return {sum(reshape(g.dy(), split_up), axes)};
}

std::vector<Value> batch_tile(const BatchContext& g) {
  Integers repeats = g.attributes().integers("repeats");
  // The axis of instances is not repeated.
  repeats.insert(repeats.begin(), 1);
  return {tile(g.x(0), repeats)};
}

// One operand may stand alone or be empty, and along an inner axis its parts
// lie apart in the result.
std::vector<OpSample> concat_samples() {
  const auto along = [](std::vector<InputSample> xs, std::int64_t axis) {
    return OpSample{std::move(xs), {{"axis", axis}}};
  };
  return {along({floats({2, 3}), floats({4, 3})}, 0),
          along({floats({2, 3}), floats({2, 1}), floats({2, 2})}, -1),
          along({floats({3})}, 0),
          along({floats({0, 2}), floats({3, 2})}, 0),
          along({floats({2, 3, 4}), floats({2, 5, 4})}, 1),
          along({floats({33, 20}, -1, 1, DType::kBF16),
                 floats({33, 5}, -1, 1, DType::kBF16)},
                1),
          along({bools({3}), bools({4})}, 0)};
}

// Parts may be empty, or all that there is.
std::vector<OpSample> split_samples() {
  const auto parts = [](InputSample x, Integers sizes, std::int64_t axis) {
    return OpSample{{std::move(x)},
                    {{"sizes", std::move(sizes)}, {"axis", axis}}};
  };
  return {parts(floats({6, 3}), {1, 2, 3}, 0),
          parts(floats({2, 5}), {4, 1}, -1), parts(floats({4}), {0, 4}, 0),
          parts(floats({2, 6, 3}), {2, 4}, 1),
          parts(integers({8}, 0, 9), {8}, 0)};
}

// Repeats of 1 stand beside others, as an axis that is not repeated must stay
// one axis.
std::vector<OpSample> tile_samples() {
  const auto times = [](InputSample x, Integers repeats) {
    return OpSample{{std::move(x)}, {{"repeats", std::move(repeats)}}};
  };
  return {times(floats({2, 3}), {2, 1}),  times(floats({2, 3}), {1, 3}),
          times(floats({3}), {4}),        times(floats({}), {}),
          times(floats({0, 2}), {2, 2}),  times(floats({2, 1, 5}), {3, 2, 2}),
          times(integers({3}, 0, 9), {2})};
}

void export_concat(OnnxContext& c) {
  const int rank = c.type(0).shape.rank();
  bool is_image = false;
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    is_image = is_image || c.is_image(i);
  }
  OnnxOperands operands{.are_images = is_image};
  for (std::size_t i = 0; i < c.input_count(); ++i) {
    operands.names.push_back(is_image ? c.image(i) : c.x(i));
  }
  set_like(c, operands,
           c.emit("Concat", operands.names,
                  {{"axis", onnx_axis(c.attributes().integer("axis"), rank,
                                      is_image)}}));
}

void export_split(OnnxContext& c) {
  const int rank = c.type(0).shape.rank();
  const bool is_image = c.is_image(0);
  const Integers& sizes = c.attributes().integers("sizes");
  const auto parts = c.emit(
      "Split", {is_image ? c.image(0) : c.x(0), c.list(sizes)},
      {{"axis", onnx_axis(c.attributes().integer("axis"), rank, is_image)}},
      sizes.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (is_image) {
      c.set_image(i, parts[i]);
    } else {
      c.set(i, parts[i]);
    }
  }
}

void export_tile(OnnxContext& c) {
  c.set(c.emit("Tile", {c.x(0), c.list(c.attributes().integers("repeats"))}));
}

}  // namespace

void register_join(OpRegistry& ops) {
  ops.add("concat")
      .summary("operands one after another along an axis")
      .signature("(xs...) -> y")
      .required("axis", std::int64_t{0})
      .infer(infer_concat)
      .reference(concat_reference)
      .gradient(concat_gradient)
      .batch(batch_along_axis, sum_of_linear)
      .onnx(export_concat)
      .cost(move_cost)
      .samples(concat_samples);
  ops.add("split")
      .summary("parts of the given sizes along an axis")
      .signature("(x) -> ys...")
      .required("sizes", Integers{})
      .required("axis", std::int64_t{0})
      .infer(infer_split)
      .reference(split_reference)
      .gradient(split_gradient)
      .batch(batch_along_axis, sum_of_linear)
      .onnx(export_split)
      .cost(move_cost)
      .samples(split_samples);
  add_mover(ops, "tile")
      .summary("the whole tensor, repeated along each axis")
      .required("repeats", Integers{})
      .infer(infer_tile)
      .reference(tile_reference)
      .gradient(tile_gradient)
      .batch(batch_tile, sum_of_linear)
      .onnx(export_tile)
      .samples(tile_samples);
}

Value concat(std::span<const Value> xs, std::int64_t axis,
             std::source_location where) {
  static const OpDef& op = op_registry().get("concat");
  return std::move(call_all(op, xs, {{"axis", axis}}, where).front());
}

std::vector<Value> split(const Operand& x, const Integers& sizes,
                         std::int64_t axis) {
  static const OpDef& op = op_registry().get("split");
  return call_all(op, {x.value, 1}, {{"sizes", sizes}, {"axis", axis}},
                  x.location);
}

Value tile(const Operand& x, Integers repeats) {
  static const OpDef& op = op_registry().get("tile");
  return call(op, {x.value}, {{"repeats", std::move(repeats)}}, x.location);
}

}  // namespace weft
