#include "weft/ops/pick.h"

#include "weft/graph/registry.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/indexing.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"

namespace weft {
namespace {

// How the elements of indices of picks lie along an axis of x.
struct PickCut {
  // The axis stands between those before it (outer) and behind it (inner), as
  // in a matrix of three sides.
  AxisCut x;
  std::int64_t picks;  // along the axis

  PickCut(const OpCall& call, const Shape& shape, bool is_many,
          const Shape& indices)
      : x(shape, axis_of(call, shape)),
        picks(is_many ? indices[axis_of(call, shape)] : 1) {}

  static int axis_of(const OpCall& call, const Shape& shape) {
    return resolved_axis(call.attributes.integer("axis"), shape.rank());
  }

  // Where in x index `i` picks from, whose value is `row`.
  std::int64_t place(std::int64_t i, std::int64_t row) const {
    // `i` counts the indices in row-major order, which have `picks` places
    // along the axis where x has `size`.
    const std::int64_t outer = i / (picks * x.inner);
    return (outer * x.size + row) * x.inner + i % x.inner;
  }
};

void pick_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  // Several picks along the axis need indices of x's rank, and one pick has an
  // axis less.
  const TensorView& x = inputs[0];
  const Shape& indices = inputs[1].shape();
  const PickCut cut(call, x.shape(), indices.rank() == x.shape().rank(),
                    indices);
  for (std::int64_t i = 0; i < inputs[1].size(); ++i) {
    // index_at() clamps what lies outside, so that the place is in x.
    copy_element(outputs[0], i, x,
                 cut.place(i, index_at(inputs[1], i, cut.x.size)));
  }
}

void pick_scatter_reference(const OpCall& call,
                            std::span<const TensorView> inputs,
                            std::span<const TensorView> outputs) {
  const PickCut cut(call, outputs[0].shape(), call.attributes.flag("is_many"),
                    inputs[1].shape());
  // The result has no element then, and no index could be right.
  if (cut.x.size == 0) return;
  // Several indices may name one place, whose values add up: in the dtype of
  // sums, and rounded once.
  accumulate(outputs[0], [&](auto&& add) {
    for (std::int64_t i = 0; i < inputs[1].size(); ++i) {
      add(inputs[0], i, cut.place(i, index_at(inputs[1], i, cut.x.size)));
    }
  });
}

// Without the axis, where it is not picked along more than once.
Shape picked_shape(Shape shape, int axis, bool is_many, Dim picks) {
  if (is_many) {
    shape[axis] = picks;
    return shape;
  }
  // One pick per line takes the axis away, as an index in NumPy does.
  return reduced_shape(shape, AxisSet({axis}, shape.rank()), false);
}

std::vector<TensorType> infer_pick(const OpCall& call) {
  require_indices(call, 1);
  const TensorType& x = call.input(0);
  const Shape& indices = call.input(1).shape;
  const int axis =
      checked_axis(call, call.attributes.integer("axis"), x.shape.rank());
  const bool is_many = indices.rank() == x.shape.rank();
  const Dim picks = is_many ? indices[axis] : 1;
  // Indices do not broadcast: a kernel goes through them and the result side by
  // side.
  if (indices != picked_shape(x.shape, axis, is_many, picks)) {
    throw call.error("indices must have the axes of x beside axis {}", axis)
        .hint("one index for each place of them, or several along the axis");
  }
  require_choice(call, x.shape[axis], indices);
  return {{x.dtype, indices}};
}

std::vector<TensorType> infer_pick_scatter(const OpCall& call) {
  require_indices(call, 1);
  const TensorType& values = call.input(0);
  if (values.shape != call.input(1).shape) {
    throw call.error("values and indices must have one shape");
  }
  const Dim size = size_attribute(call);
  require_choice(call, size, values.shape);
  const bool is_many = call.attributes.flag("is_many");
  const int rank = values.shape.rank() + (is_many ? 0 : 1);
  const int axis = checked_axis(call, call.attributes.integer("axis"), rank);
  Shape shape(values.shape.first(axis));
  shape.push_back(size);
  for (const Dim dim : values.shape.last(rank - axis - 1)) {
    shape.push_back(dim);
  }
  // The type is built from the attribute, as the values do not tell how long
  // the axis was that they were picked from.
  return {{values.dtype, shape}};
}

Gradients pick_gradient(const GradientContext& g) {
  const Shape& shape = g.x(0).shape();
  const int axis = resolved_axis(g.attributes().integer("axis"), shape.rank());
  return {pick_scatter(g.dy(), g.x(1), shape[axis],
                       g.x(1).shape().rank() == shape.rank(), axis),
          Value()};
}

Gradients pick_scatter_gradient(const GradientContext& g) {
  return {pick(g.dy(), g.x(1), g.attributes().integer("axis")), Value()};
}

// One or several are picked along the last axis, where places are rows, and
// along others, where they are columns.
std::vector<OpSample> pick_samples() {
  const auto along = [](InputSample x, InputSample index,
                        std::int64_t axis = -1) {
    return OpSample{{std::move(x), std::move(index)}, {{"axis", axis}}};
  };
  return {along(floats({4, 3}), indices({4}, 3)),
          along(floats({2, 3, 5}), indices({2, 3}, 5, DType::kI32)),
          along(floats({7}), indices({}, 7)),
          along(floats({4, 3}), indices({4, 2}, 3)),
          along(floats({7}), indices({9}, 7)),
          along(floats({0, 3}), indices({0}, 3)),
          along(floats({6, 3}), integers({6}, -3, 2, DType::kI64)),
          along(floats({128, 10}), indices({128}, 10)),
          along(floats({9, 5}, -1, 1, DType::kBF16), indices({9}, 5)),
          along(floats({4, 3}), indices({3}, 4), 0),
          along(floats({4, 3}), indices({6, 3}, 4), 0),
          along(floats({2, 5, 3}), indices({2, 3}, 5, DType::kI32), 1),
          along(floats({2, 5, 3}), indices({2, 4, 3}, 5), -2),
          along(floats({5, 700}), indices({9, 700}, 5), 0)};
}

// Several values for one place are added up, which few places make likely.
std::vector<OpSample> pick_scatter_samples() {
  const auto into = [](InputSample values, InputSample index, Dim size,
                       bool is_many, std::int64_t axis = -1) {
    return OpSample{
        {std::move(values), std::move(index)},
        {{"size", Shape{size}}, {"is_many", is_many}, {"axis", axis}}};
  };
  return {
      into(floats({4}), indices({4}, 3), 3, false),
      into(floats({2, 3}), indices({2, 3}, 5, DType::kI32), 5, false),
      into(floats({2, 3}), indices({2, 3}, 5), 5, true),
      into(floats({9}), indices({9}, 4), 4, true),
      into(floats({}), indices({}, 4), 4, false),
      into(floats({0}), indices({0}, 4), 4, false),
      into(floats({128}), indices({128}, 10), 10, false),
      into(floats({5, 9}, -1, 1, DType::kBF16), indices({5, 9}, 3), 3, true),
      into(floats({3}), indices({3}, 4), 4, false, 0),
      into(floats({6, 3}), indices({6, 3}, 4), 4, true, 0),
      into(floats({2, 3}), indices({2, 3}, 5, DType::kI32), 5, false, 1),
      into(floats({2, 4, 3}), indices({2, 4, 3}, 5), 5, true, -2),
      into(floats({9, 700}), indices({9, 700}, 5), 5, true, 0)};
}

Cost pick_cost(const OpCall& call) {
  Cost cost;
  // Only what is picked is read.
  cost.bytes = 2 * static_cast<double>(call.outputs[0].bytes()) +
               static_cast<double>(call.input(1).bytes());
  return cost;
}

// Indices that lack the axis get it, and the result loses it.
void export_pick(OnnxContext& c) {
  const int rank = c.type(0).shape.rank();
  const std::int64_t axis = resolved_axis(c.attributes().integer("axis"), rank);
  const bool is_many = c.type(1).shape.rank() == rank;
  const std::string axes = is_many ? "" : c.list({axis});
  const std::string indices =
      is_many ? c.x(1) : c.emit("Unsqueeze", {c.x(1), axes});
  const std::string y =
      c.emit("GatherElements", {c.x(0), indices}, {{"axis", axis}});
  c.set(is_many ? y : c.emit("Squeeze", {y, axes}));
}

}  // namespace

void register_pick(OpRegistry& ops) {
  ops.add("pick")
      .summary("elements along an axis, by index at each place of the others")
      .signature("(x, indices) -> y")
      .attribute("axis", std::int64_t{-1})
      .infer(infer_pick)
      .reference(pick_reference)
      .gradient(pick_gradient)
      .batch(batch_along_axis, sum_of_linear_in_first)
      .onnx(export_pick)
      .cost(pick_cost)
      .samples(pick_samples);
  ops.add("pick_scatter")
      .summary("zeros with values added at the indices along an axis")
      .signature("(values, indices) -> y")
      .required("size", Shape())
      .attribute("is_many", false)
      .attribute("axis", std::int64_t{-1})
      .infer(infer_pick_scatter)
      .reference(pick_scatter_reference)
      .gradient(pick_scatter_gradient)
      .batch(batch_along_axis, sum_of_linear_in_first)
      .cost([](const OpCall& call) {
        return Cost::of(
            call, static_cast<double>(call.input(0).shape.num_elements()));
      })
      .samples(pick_scatter_samples);
}

Value pick(const Operand& x, const Operand& indices, std::int64_t axis) {
  static const OpDef& op = op_registry().get("pick");
  return call(op, {x.value, indices.value}, {{"axis", axis}}, x.location);
}

Value pick_scatter(const Operand& values, const Operand& indices, Dim size,
                   bool is_many, std::int64_t axis) {
  static const OpDef& op = op_registry().get("pick_scatter");
  return call(op, {values.value, indices.value},
              {{"size", Shape{size}}, {"is_many", is_many}, {"axis", axis}},
              values.location);
}

Value put_along_axis(const Operand& x, const Operand& indices,
                     const Operand& values, std::int64_t axis,
                     ScatterMode mode) {
  const Shape& shape = x.value->shape();
  const int rank = shape.rank();
  const Shape& places = indices.value->shape();
  if (places.rank() != rank) {
    throw Error(ErrorCode::kInvalidArgument, "put_along_axis",
                "x has {} axes, but indices {}", rank, places.rank());
  }
  const int along = normalize_axis(axis, rank, "put_along_axis");
  Shape wanted = shape;
  // Indices broadcast to x along all axes but the one that they are for, as in
  // NumPy's put_along_axis.
  wanted[along] = places[along];
  // The axis comes last, and those before it are gone through side by side.
  Integers order;
  for (int i = 0; i < rank; ++i) {
    if (i != along) order.push_back(i);
  }
  order.push_back(along);
  Integers back(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    back[static_cast<std::size_t>(order[i])] = static_cast<std::int64_t>(i);
  }
  // Transposing by an order that changes nothing would copy x all the same.
  const bool is_last = along == rank - 1;
  const auto moved = [&](const Value& value) {
    return is_last ? value : transpose(value, order);
  };
  const Value rows = moved(broadcast_to(indices, wanted));
  Shape tuples = rows.shape();
  // scatter_nd wants a tuple of indices for each place; here it has one index.
  tuples.push_back(1);
  const Value y =
      scatter_nd(moved(*x.value), reshape(rows, tuples),
                 // With all axes but the last as batch axes, an index counts
                 // within its own line.
                 moved(broadcast_to(values, wanted)), mode, rank - 1);
  return is_last ? y : transpose(y, back);
}

}  // namespace weft
