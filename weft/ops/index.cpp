#include "weft/ops/index.h"

#include "weft/graph/registry.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/indexing.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

void zero(const TensorView& y) {
  // The zero of every dtype is made of zero bytes. An empty tensor may have no
  // memory, which memset must not be given.
  if (y.type.bytes() > 0) std::memset(y.data, 0, y.type.bytes());
}

void gather_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  const TensorView& x = inputs[0];
  const AxisCut cut(x.shape(), resolved_axis(call.attributes.integer("axis"),
                                             x.shape().rank()));
  const std::int64_t count = inputs[1].size();
  const std::size_t row =
      static_cast<std::size_t>(cut.inner) * size_of(x.dtype());
  if (row == 0) return;
  // With x as [outer, size, inner], the result is [outer, indices, inner]: it
  // is written from its first byte to its last.
  auto* to = outputs[0].as<std::byte>();
  for (std::int64_t outer = 0; outer < cut.outer; ++outer) {
    for (std::int64_t i = 0; i < count; ++i, to += row) {
      // index_at() clamps, so the row lies within x whatever the index was.
      const std::int64_t from =
          outer * cut.size + index_at(inputs[1], i, cut.size);
      std::memcpy(to, x.as<std::byte>() + static_cast<std::size_t>(from) * row,
                  row);
    }
  }
}

void scatter_add_reference(const OpCall& call,
                           std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  const TensorView& y = outputs[0];
  const AxisCut cut(y.shape(), resolved_axis(call.attributes.integer("axis"),
                                             y.shape().rank()));
  const std::int64_t count = inputs[1].size();
  // Without rows, clamping would give row -1. Inference lets this pass only
  // where there is nothing to add.
  if (cut.size == 0) return;
  // This is y[o, indices[i], n] += updates[o, i, n], in the order of i, so that
  // repeated rows sum to the same bits every time.
  accumulate(y, [&](auto&& add) {
    for (std::int64_t i = 0; i < cut.outer * count; ++i) {
      const std::int64_t row =
          i / count * cut.size + index_at(inputs[1], i % count, cut.size);
      for (std::int64_t n = 0; n < cut.inner; ++n) {
        add(inputs[0], i * cut.inner + n, row * cut.inner + n);
      }
    }
  });
}

void one_hot_reference(const OpCall&, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  const std::int64_t depth = outputs[0].shape().back();
  zero(outputs[0]);
  for (std::int64_t i = 0; i < inputs[0].size(); ++i) {
    const auto label = load_as<std::int64_t>(inputs[0], i);
    // A label outside of the classes is clamped here, and refused before by
    // whoever looks (graph/index_check.h).
    store_as(outputs[0], i * depth + class_of(label, depth), 1);
  }
}

std::vector<TensorType> infer_gather(const OpCall& call) {
  require_indices(call, 1);
  const TensorType& x = call.input(0);
  const Shape& indices = call.input(1).shape;
  const int rank = x.shape.rank();
  const int axis = checked_axis(call, call.attributes.integer("axis"), rank);
  require_choice(call, x.shape[axis], indices);
  Shape shape(x.shape.first(axis));
  for (const Dim dim : indices) shape.push_back(dim);
  for (const Dim dim : x.shape.last(rank - axis - 1)) shape.push_back(dim);
  return {{x.dtype, shape}};
}

std::vector<TensorType> infer_scatter_add(const OpCall& call) {
  require_indices(call, 1);
  const TensorType& updates = call.input(0);
  const Shape& indices = call.input(1).shape;
  // The result has one axis in the place of all axes of the indices.
  const int rank = updates.shape.rank() - indices.rank() + 1;
  if (rank < 1) throw call.error("updates have fewer axes than indices");
  const int axis = checked_axis(call, call.attributes.integer("axis"), rank);
  require_rows(call, updates.shape, indices, axis);
  const Dim size = size_attribute(call);
  // Updates without elements need no row, even where the indices have some.
  require_choice(call, size, updates.shape);
  Shape shape(updates.shape.first(axis));
  shape.push_back(size);
  for (const Dim dim : updates.shape.last(rank - axis - 1)) {
    shape.push_back(dim);
  }
  return {{updates.dtype, shape}};
}

std::vector<TensorType> infer_one_hot(const OpCall& call) {
  require_indices(call, 0);
  const std::int64_t depth = call.attributes.integer("depth");
  // A row of no classes has no place for a 1.
  if (depth < 1) throw call.error("depth {} is below 1", depth);
  Shape shape = call.input(0).shape;
  shape.push_back(depth);
  return {{call.attributes.get<DType>("dtype"), shape}};
}

Gradients gather_gradient(const GradientContext& g) {
  const Shape& shape = g.x(0).shape();
  const int axis = resolved_axis(g.attributes().integer("axis"), shape.rank());
  return {scatter_add(g.dy(), g.x(1), shape[axis], axis), Value()};
}

// Each update was added to one row, so it takes that row's gradient.
Gradients scatter_add_gradient(const GradientContext& g) {
  return {gather(g.dy(), g.x(1), g.attributes().integer("axis")), Value()};
}

// `count` axes from `from` on, moved to stand before axis `to` of what is left.
Value with_axes_moved(const Value& x, int from, int count, int to) {
  Integers order;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (axis < from || axis >= from + count) order.push_back(axis);
  }
  for (int i = 0; i < count; ++i) {
    order.insert(order.begin() + to + i, from + i);
  }
  return from == to || count == 0 ? x : transpose(x, order);
}

std::vector<Value> batch_gather(const BatchContext& g) {
  const Shape& shape = g.call().input(0).shape;
  const int axis = resolved_axis(g.attributes().integer("axis"), shape.rank());
  // All instances read the same rows: the op is the same, one axis further.
  if (!g.is_batched(1)) return {gather(g.x(0), g.x(1), axis + 1)};
  // Rows first, so that the batch of indices leads the result.
  const bool is_shared = !g.is_batched(0);
  Value rows = with_axes_moved(g.x(0), is_shared ? axis : axis + 1, 1,
                               is_shared ? 0 : 1);
  Value indices = g.x(1);
  if (!is_shared) {
    // Rows of all instances stand below each other, and each instance's indices
    // begin at its own first row.
    Shape below{dim_multiply(g.size(), shape[axis])};
    for (const Dim dim : rows.shape().last(shape.rank() - 1)) {
      below.push_back(dim);
    }
    rows = reshape(rows, below);
    indices = indices_of_all(g, 1, shape[axis]);
  }
  const int before = indices.shape().rank();
  // The result is now [B, indices…, other axes…]: the axes before `axis` go
  // back to the front, behind the batch.
  return {with_axes_moved(gather(rows, indices, 0), before, axis, 1)};
}

std::vector<Value> batch_scatter_add(const BatchContext& g) {
  const Shape& shape = g.call().outputs[0].shape;
  const int axis = resolved_axis(g.attributes().integer("axis"), shape.rank());
  const Dim size = shape[axis];
  // All instances add at the same rows, one axis further.
  if (!g.is_batched(1)) return {scatter_add(g.x(0), g.x(1), size, axis + 1)};
  const int indexed = g.call().input(1).shape.rank();
  // The axes that are indexed have to lead, behind the batch, as one scatter
  // runs along the first axis of all rows.
  const Value rows = with_axes_moved(stacked(g, 0), 1 + axis, indexed, 1);
  const Value sums = scatter_add(rows, indices_of_all(g, 1, size),
                                 dim_multiply(g.size(), size), 0);
  // The rows of the instances come apart again, and their axis goes to where it
  // stood.
  Shape apart{g.size(), size};
  for (const Dim dim : sums.shape().last(shape.rank() - 1)) {
    apart.push_back(dim);
  }
  return {with_axes_moved(reshape(sums, apart), 1, 1, 1 + axis)};
}

// The rows of all instances go to one sum.
std::vector<Value> sum_of_scatter_adds(const BatchContext& g) {
  // With shared indices, the sum of the updates is added instead of each.
  if (!g.is_batched(1)) return sum_of_linear_in_first(g);
  const Shape& shape = g.call().outputs[0].shape;
  const int axis = resolved_axis(g.attributes().integer("axis"), shape.rank());
  // The batch becomes one more axis of the indices.
  const Value rows = with_axes_moved(stacked(g, 0), 0, 1, axis);
  return {scatter_add(rows, g.x(1), shape[axis], axis)};
}

// Among the samples are indices from -3 to 2 into an axis of 3: negative ones
// count from the end.
std::vector<OpSample> gather_samples() {
  const auto along = [](InputSample x, InputSample index, std::int64_t axis) {
    return OpSample{{std::move(x), std::move(index)}, {{"axis", axis}}};
  };
  return {along(floats({5, 3}), indices({4}, 5), 0),
          along(floats({5, 3}), indices({2, 2}, 3, DType::kI32), -1),
          along(floats({2, 7, 4}), indices({3}, 7), 1),
          along(floats({6}), indices({}, 6), 0),
          along(floats({5, 3}), indices({0}, 5), 0),
          along(floats({3, 2}), integers({6}, -3, 2, DType::kI64), 0),
          along(floats({50, 70}), indices({40}, 50), 0),
          along(floats({9, 5}, -1, 1, DType::kBF16), indices({4}, 9), 0),
          along(integers({9, 5}, -9, 9), indices({4}, 9), 0)};
}

// Many updates of few rows show the order of additions, and many rows the work
// on several threads.
std::vector<OpSample> scatter_add_samples() {
  const auto into = [](InputSample updates, InputSample index, Dim size,
                       std::int64_t axis) {
    return OpSample{{std::move(updates), std::move(index)},
                    {{"size", Shape{size}}, {"axis", axis}}};
  };
  return {into(floats({4, 3}), indices({4}, 5), 5, 0),
          into(floats({4, 3}), indices({4}, 2, DType::kI32), 2, 0),
          into(floats({2, 3, 4}), indices({2, 3}, 6), 6, 0),
          into(floats({2, 3, 4}), indices({3}, 7), 7, 1),
          into(floats({3, 4}), indices({4}, 3), 3, -1),
          into(floats({}), indices({}, 6), 6, 0),
          into(floats({0, 3}), indices({0}, 5), 5, 0),
          into(floats({6, 2}), integers({6}, -3, 2, DType::kI64), 3, 0),
          into(floats({300, 40}), indices({300}, 50), 50, 0),
          into(floats({90, 5}, -1, 1, DType::kBF16), indices({90}, 3), 3, 0),
          into(floats({9, 5}, -1, 1, DType::kF64), indices({9}, 3), 3, 0),
          into(integers({9, 5}, -9, 9), indices({9}, 3), 3, 0)};
}

// The dtype of the result is an attribute, and not that of the indices.
std::vector<OpSample> one_hot_samples() {
  return {
      {{indices({4}, 3)}, {{"depth", std::int64_t{3}}}},
      {{indices({2, 3}, 5, DType::kI32)}, {{"depth", std::int64_t{5}}}},
      {{indices({}, 2)}, {{"depth", std::int64_t{2}}, {"dtype", DType::kBF16}}},
      {{indices({0}, 2)}, {{"depth", std::int64_t{2}}}},
      {{indices({7}, 4)},
       {{"depth", std::int64_t{4}}, {"dtype", DType::kI32}}}};
}

// Additions, one per update.
Cost scatter_cost(const OpCall& call) {
  return Cost::of(call,
                  static_cast<double>(call.input(0).shape.num_elements()));
}

// Only the rows that are read count as bytes. A gather from a large table costs
// what it takes, and not the table.
Cost gather_cost(const OpCall& call) {
  Cost cost;
  cost.bytes = 2 * static_cast<double>(call.outputs[0].bytes()) +
               static_cast<double>(call.input(1).bytes());
  return cost;
}

void export_gather(OnnxContext& c) {
  c.set(c.emit("Gather", {c.x(0), c.x(1)},
               {{"axis", c.attributes().integer("axis")}}));
}

void export_one_hot(OnnxContext& c) {
  const DType dtype = c.attributes().get<DType>("dtype");
  Tensor values = Tensor::empty({dtype, {2}});
  for (std::int64_t i = 0; i < 2; ++i) {
    const Tensor one = Tensor::scalar(static_cast<double>(i), dtype);
    values.slice(i, i + 1).copy_from(one.reshape({1}));
  }
  c.set(c.emit("OneHot", {c.x(0), c.list({c.attributes().integer("depth")}),
                          c.constant(values)}));
}

}  // namespace

void register_index(OpRegistry& ops) {
  ops.add("gather")
      .summary("rows along an axis, by index; -1 is the last")
      .signature("(x, indices) -> y")
      .attribute("axis", std::int64_t{0})
      .infer(infer_gather)
      .reference(gather_reference)
      .gradient(gather_gradient)
      .batch(batch_gather, sum_of_linear_in_first)
      .onnx(export_gather)
      .cost(gather_cost)
      .samples(gather_samples);
  ops.add("scatter_add")
      .summary("zeros with rows added at the indices along an axis")
      .signature("(updates, indices) -> y")
      // The size is a shape of one dim rather than a number, so that it may be
      // symbolic.
      .required("size", Shape())
      .attribute("axis", std::int64_t{0})
      .infer(infer_scatter_add)
      .reference(scatter_add_reference)
      .gradient(scatter_add_gradient)
      .batch(batch_scatter_add, sum_of_scatter_adds)
      .cost(scatter_cost)
      .samples(scatter_add_samples);
  ops.add("one_hot")
      .summary("1 at the index along a new last axis, else 0")
      .signature("(indices) -> y")
      .required("depth", std::int64_t{0})
      .attribute("dtype", DType::kF32)
      .traits(kNoGradient)
      .infer(infer_one_hot)
      .reference(one_hot_reference)
      .batch(batch_rows)
      .onnx(export_one_hot)
      .cost([](const OpCall& call) { return Cost::of(call, 0); })
      .samples(one_hot_samples);
}

Value gather(const Operand& x, const Operand& indices, std::int64_t axis) {
  static const OpDef& op = op_registry().get("gather");
  return call(op, {x.value, indices.value}, {{"axis", axis}}, x.location);
}

Value scatter_add(const Operand& updates, const Operand& indices, Dim size,
                  std::int64_t axis) {
  static const OpDef& op = op_registry().get("scatter_add");
  return call(op, {updates.value, indices.value},
              {{"size", Shape{size}}, {"axis", axis}}, updates.location);
}

Value one_hot(const Operand& indices, std::int64_t depth, DType dtype) {
  static const OpDef& op = op_registry().get("one_hot");
  return call(op, {indices.value}, {{"depth", depth}, {"dtype", dtype}},
              indices.location);
}

}  // namespace weft
