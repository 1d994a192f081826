#include "weft/ops/dynamic_slice.h"

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/indexing.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// Calls copy(element of the slices, its place in x) for each one.
template <class Copy>
void for_each_in_slices(const Shape& x, const Shape& slices,
                        const TensorView& starts, Copy&& copy) {
  // The last axis of `starts` lists the starts of one slice; those before it
  // are batch axes.
  const int batch_axes = starts.shape().rank() - 1;
  const int axes = x.rank() - batch_axes;
  const auto strides = row_major_strides(x);
  std::int64_t batch_size = 1;
  // So many elements of the slices share one row of `starts`.
  for (const Dim dim : slices.last(axes)) batch_size *= dim;
  for_each_index(slices, [&](std::int64_t i, const MultiIndex& index) {
    std::int64_t place = 0;
    for (int axis = 0; axis < x.rank(); ++axis) {
      std::int64_t begin = 0;
      if (axis >= batch_axes) {
        // Row i / batch_size of `starts` has one entry for each axis that is
        // not a batch axis.
        const std::int64_t n = i / batch_size * axes + axis - batch_axes;
        begin =
            // A start that would reach past the end is moved back (start_of()),
            // so that every place lies within x.
            start_of(load_as<std::int64_t>(starts, n), x[axis], slices[axis]);
      }
      place += (begin + index[at(axis)]) * strides[at(axis)];
    }
    copy(i, place);
  });
}

void dynamic_slice_reference(const OpCall&, std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs) {
  for_each_in_slices(inputs[0].shape(), outputs[0].shape(), inputs[1],
                     [&](std::int64_t part, std::int64_t place) {
                       copy_element(outputs[0], part, inputs[0], place);
                     });
}

void dynamic_update_slice_reference(const OpCall&,
                                    std::span<const TensorView> inputs,
                                    std::span<const TensorView> outputs) {
  for (std::int64_t i = 0; i < inputs[0].size(); ++i) {
    copy_element(outputs[0], i, inputs[0], i);
  }
  for_each_in_slices(inputs[0].shape(), inputs[1].shape(), inputs[2],
                     [&](std::int64_t part, std::int64_t place) {
                       copy_element(outputs[0], place, inputs[1], part);
                     });
}

// How many leading axes of x tell slices apart.
int checked_batch_axes(const OpCall& call, std::size_t starts) {
  require_indices(call, starts);
  const Shape& x = call.input(0).shape;
  const Shape& shape = call.input(starts).shape;
  const int batch_axes = shape.rank() - 1;
  // Every axis of x must be either a batch axis or have a start; nothing is
  // taken whole by being left out.
  if (batch_axes < 0 || batch_axes > x.rank() ||
      Shape(x.first(batch_axes)) != Shape(shape.first(batch_axes)) ||
      shape.back() != x.rank() - batch_axes) {
    throw call.error("there must be one start for each axis of x")
        .hint("starts is a vector, or has one for each of x's leading axes");
  }
  return batch_axes;
}

// Whether `size` elements fit into the axis is known, unless one is a symbol.
void require_fit(const OpCall& call, Dim size, Dim whole, int axis) {
  // A symbol is settled when the function runs; start_of() clamps whatever it
  // turns out to be.
  if (size == whole || is_symbolic(size) || is_symbolic(whole)) return;
  if (size > whole) {
    throw call.error("a slice of {} does not fit into axis {} of {}", size,
                     axis, whole);
  }
}

std::vector<TensorType> infer_dynamic_slice(const OpCall& call) {
  const int batch_axes = checked_batch_axes(call, 1);
  TensorType y = call.input(0);
  const Shape& sizes = call.attributes.get<Shape>("sizes");
  if (sizes.rank() != y.shape.rank() - batch_axes) {
    throw call.error("sizes need one entry for each of {} axes",
                     y.shape.rank() - batch_axes);
  }
  for (int i = 0; i < sizes.rank(); ++i) {
    Dim& dim = y.shape[batch_axes + i];
    require_fit(call, sizes[i], dim, batch_axes + i);
    dim = sizes[i];
  }
  return {y};
}

std::vector<TensorType> infer_dynamic_update_slice(const OpCall& call) {
  const int batch_axes = checked_batch_axes(call, 2);
  const TensorType& x = call.input(0);
  const TensorType& update = call.input(1);
  if (update.dtype != x.dtype) {
    throw call.error("x and update must have one dtype");
  }
  if (update.shape.rank() != x.shape.rank() ||
      Shape(update.shape.first(batch_axes)) !=
          Shape(x.shape.first(batch_axes))) {
    throw call.error("update must have the axes of x, of the slice's sizes");
  }
  for (int axis = batch_axes; axis < x.shape.rank(); ++axis) {
    require_fit(call, update.shape[axis], x.shape[axis], axis);
  }
  return {x};
}

Shape slice_sizes(const Shape& slices, const Value& starts) {
  return Shape(slices.last(slices.rank() + 1 - starts.shape().rank()));
}

Gradients dynamic_slice_gradient(const GradientContext& g) {
  // Places of a slice differ, so that putting it back into zeros is the
  // transpose of taking it.
  return {dynamic_update_slice(zeros_like(g.x(0)), g.dy(), g.x(1)), Value()};
}

// What was overwritten has no gradient.
Gradients dynamic_update_slice_gradient(const GradientContext& g) {
  const Value& update = g.x(1);
  const Value& starts = g.x(2);
  return {dynamic_update_slice(g.dy(), zeros_like(update), starts),
          dynamic_slice(g.dy(), starts, slice_sizes(update.shape(), starts)),
          Value()};
}

// What is read and written of x is what the slices hold.
Cost slice_cost(const TensorType& slices, const TensorType& starts) {
  Cost cost;
  cost.bytes = 2 * static_cast<double>(slices.bytes()) +
               static_cast<double>(starts.bytes());
  return cost;
}

// Starts are also counted from the end, and may be one set for each place of a
// batch.
std::vector<OpSample> dynamic_slice_samples() {
  const auto cut = [](InputSample x, InputSample starts, const Shape& sizes) {
    return OpSample{{std::move(x), std::move(starts)}, {{"sizes", sizes}}};
  };
  return {
      cut(floats({5}), indices({1}, 3), {3}),
      cut(floats({6, 5}), indices({2}, 3, DType::kI32), {4, 2}),
      cut(floats({6, 5}), integers({2}, -5, -4, DType::kI64), {4, 2}),
      cut(floats({3, 6, 5}), indices({3, 2}, 3), {4, 2}),
      cut(floats({2, 3, 4}), indices({2, 3, 1}, 4), {1}),
      cut(floats({}), indices({0}, 1), {}),
      cut(floats({4, 3}), indices({2}, 1), {4, 3}),
      cut(floats({4, 3}), indices({2}, 3), {0, 1}),
      cut(floats({0, 3}), indices({2}, 1), {0, 2}),
      cut(integers({7, 6}, -9, 9, DType::kU8), indices({2}, 4), {3, 3}),
      cut(floats({40, 50}, -1, 1, DType::kBF16), indices({2}, 9), {30, 40})};
}

// The starts are those of the samples above.
std::vector<OpSample> dynamic_update_slice_samples() {
  const auto put = [](InputSample x, InputSample update, InputSample starts) {
    return OpSample{{std::move(x), std::move(update), std::move(starts)}, {}};
  };
  return {
      put(floats({5}), floats({3}), indices({1}, 3)),
      put(floats({6, 5}), floats({4, 2}), indices({2}, 3, DType::kI32)),
      put(floats({6, 5}), floats({4, 2}), integers({2}, -5, -4, DType::kI64)),
      put(floats({3, 6, 5}), floats({3, 4, 2}), indices({3, 2}, 3)),
      put(floats({}), floats({}), indices({0}, 1)),
      put(floats({4, 3}), floats({0, 1}), indices({2}, 3)),
      put(floats({0, 3}), floats({0, 2}), indices({2}, 1)),
      put(integers({7, 6}, -9, 9), integers({3, 3}, -9, 9), indices({2}, 4)),
      put(floats({40, 50}, -1, 1, DType::kBF16),
          floats({30, 40}, -1, 1, DType::kBF16), indices({2}, 9))};
}

void export_dynamic_slice(OnnxContext& c) {
  if (c.type(1).shape.rank() != 1) {
    throw c.unsupported("ONNX has no slices of their own for each row");
  }
  // Positions from a start on, along one axis after another; negative ones
  // count from the end in both.
  const Shape& whole = c.type(0).shape;
  const Shape& sizes = c.attributes().get<Shape>("sizes");
  const std::string starts =
      c.type(1).dtype == DType::kI64
          ? c.x(1)
          : c.emit("Cast", {c.x(1)}, {{"to", DType::kI64}});
  std::string y = c.x(0);
  for (int axis = 0; axis < whole.rank(); ++axis) {
    if (sizes[axis] == whole[axis]) continue;
    const std::string start = c.emit("Gather", {starts, c.list({axis})});
    const std::string count = c.emit("ReduceSum", {c.shape({sizes[axis]})},
                                     {{"keepdims", std::int64_t{0}}});
    const std::string steps = c.emit(
        "Range", {c.number(0, DType::kI64), count, c.number(1, DType::kI64)});
    y = c.emit("Gather", {y, c.emit("Add", {start, steps})},
               {{"axis", std::int64_t{axis}}});
  }
  c.set(y);
}

}  // namespace

void register_dynamic_slice(OpRegistry& ops) {
  ops.add("dynamic_slice")
      .summary("a slice of fixed sizes at starts that are computed")
      .signature("(x, starts) -> y")
      .required("sizes", Shape())
      .infer(infer_dynamic_slice)
      .reference(dynamic_slice_reference)
      .gradient(dynamic_slice_gradient)
      .batch(batch_rows, sum_of_linear_in_first)
      .onnx(export_dynamic_slice)
      .cost([](const OpCall& call) {
        return slice_cost(call.outputs[0], call.input(1));
      })
      .samples(dynamic_slice_samples);
  ops.add("dynamic_update_slice")
      .summary("x with another slice at starts that are computed")
      .signature("(x, update, starts) -> y")
      .infer(infer_dynamic_update_slice)
      .reference(dynamic_update_slice_reference)
      .gradient(dynamic_update_slice_gradient)
      .batch(batch_rows)
      .cost([](const OpCall& call) {
        return slice_cost(call.input(1), call.input(2));
      })
      .samples(dynamic_update_slice_samples);
}

Value dynamic_slice(const Operand& x, const Operand& starts,
                    const Shape& sizes) {
  static const OpDef& op = op_registry().get("dynamic_slice");
  return call(op, {x.value, starts.value}, {{"sizes", sizes}}, x.location);
}

Value dynamic_update_slice(const Operand& x, const Operand& update,
                           const Operand& starts) {
  static const OpDef& op = op_registry().get("dynamic_update_slice");
  return call(op, {x.value, update.value, starts.value}, {}, x.location);
}

}  // namespace weft
