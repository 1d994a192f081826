#include "weft/ops/rows.h"

#include <unordered_map>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/indexing.h"
#include "weft/ops/support/samples.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

// How many elements a row has: there are indices.size() rows. Without any, no
// width is asked for.
std::int64_t row_width(const TensorView& updates, const TensorView& indices) {
  return indices.size() == 0 ? 0 : updates.size() / indices.size();
}

void add_rows_reference(const OpCall&, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) {
  const TensorView& x = inputs[0];
  const TensorView& updates = inputs[1];
  const TensorView& indices = inputs[2];
  const std::int64_t width = row_width(updates, indices);
  accumulate(outputs[0], [&](auto&& add) {
    // x is added too rather than copied, so that each element is rounded once,
    // after all updates.
    for (std::int64_t i = 0; i < x.size(); ++i) add(x, i, i);
    for (std::int64_t i = 0; i < updates.size(); ++i) {
      // The index is clamped, so the row is one of x's.
      const std::int64_t row = index_at(indices, i / width, x.shape()[0]);
      add(updates, i, row * width + i % width);
    }
  });
}

void coalesce_rows_reference(const OpCall& call,
                             std::span<const TensorView> inputs,
                             std::span<const TensorView> outputs) {
  const TensorView& updates = inputs[0];
  const TensorView& indices = inputs[1];
  const std::int64_t size = call.attributes.get<Shape>("size")[0];
  const std::int64_t width = row_width(updates, indices);
  // The first update of each row has the row's sum.
  std::unordered_map<std::int64_t, std::int64_t> firsts;  // keyed by row
  accumulate(outputs[0], [&](auto&& add) {
    for (std::int64_t i = 0; i < indices.size(); ++i) {
      const std::int64_t row = index_at(indices, i, size);
      // Sums stand where their row came first, so the result has as many rows
      // as the updates, known before it runs.
      const std::int64_t first = firsts.try_emplace(row, i).first->second;
      for (std::int64_t n = 0; n < width; ++n) {
        add(updates, i * width + n, first * width + n);
      }
    }
  });
}

std::vector<TensorType> infer_add_rows(const OpCall& call) {
  require_indices(call, 2);
  const TensorType& x = call.input(0);
  const TensorType& updates = call.input(1);
  const Shape& indices = call.input(2).shape;
  const int width = x.shape.rank() - 1;
  if (updates.dtype != x.dtype || x.dtype == DType::kBool) {
    throw call.error("x and updates must be numbers of one dtype");
  }
  const bool fits =
      width >= 0 && updates.shape.rank() == indices.rank() + width &&
      Shape(updates.shape.last(width)) == Shape(x.shape.last(width));
  if (!fits) {
    throw call.error(
        "updates must have the axes of indices, then those of a "
        "row of x");
  }
  require_rows(call, updates.shape, indices, 0);
  require_choice(call, x.shape[0], updates.shape);
  return {x};
}

std::vector<TensorType> infer_coalesce_rows(const OpCall& call) {
  require_indices(call, 1);
  const TensorType& updates = call.input(0);
  const Shape& indices = call.input(1).shape;
  if (updates.dtype == DType::kBool) throw call.error("bools have no sum");
  if (updates.shape.rank() < indices.rank()) {
    throw call.error("updates have fewer axes than indices");
  }
  require_rows(call, updates.shape, indices, 0);
  // The size says where negative indices count from; no tensor of that size is
  // made.
  require_choice(call, size_attribute(call), updates.shape);
  return {updates};
}

Gradients add_rows_gradient(const GradientContext& g) {
  // Each update was added once to its row, whose gradient it takes.
  return {g.dy(), gather(g.dy(), g.x(2)), Value()};
}

// Every row takes the gradient of the first of its index. With s_f = Σ u_i over
// all i whose first place is f, du_i = ds_f.
Gradients coalesce_rows_gradient(const GradientContext& g) {
  const Dim size = g.attributes().get<Shape>("size")[0];
  const Value& indices = g.x(1);
  const Value ones = ones_like(g.dy());
  // Sums of ones are at least 1 in the first place of an index, and 0 in
  // others.
  const Value is_first = minimum(coalesce_rows(ones, indices, size), ones);
  // Only first places are added, so each row of the table has one term.
  const Value table = scatter_add(g.dy() * is_first, indices, size);
  return {gather(table, indices), Value()};
}

// The tables of all instances are put below each other, and each instance's
// indices begin at the first row of its own.
std::vector<Value> batch_add_rows(const BatchContext& g) {
  const Shape& shape = g.call().input(0).shape;
  Shape below = shape;
  below[0] = dim_multiply(g.size(), shape[0]);
  const Value all = add_rows(reshape(stacked(g, 0), below), stacked(g, 1),
                             indices_of_all(g, 2, shape[0]));
  return {reshape(all, with_leading(g.size(), shape))};
}

std::vector<Value> batch_coalesce_rows(const BatchContext& g) {
  const Dim size = g.attributes().get<Shape>("size")[0];
  // With a row number of its own for each instance, equal indices of two
  // instances are not added up.
  return {coalesce_rows(stacked(g, 0), indices_of_all(g, 1, size),
                        dim_multiply(g.size(), size))};
}

// Updates are all of one row, of rows that are counted from the end, and more
// than one thread takes.
std::vector<OpSample> add_rows_samples() {
  const auto onto = [](InputSample x, InputSample updates, InputSample index) {
    return OpSample{{std::move(x), std::move(updates), std::move(index)}, {}};
  };
  return {
      onto(floats({5, 3}), floats({4, 3}), indices({4}, 5)),
      onto(floats({7, 2, 2}), floats({2, 3, 2, 2}), indices({2, 3}, 7)),
      onto(floats({5, 3}), floats({6, 3}), indices({6}, 1, DType::kI32)),
      onto(floats({6}), floats({}), indices({}, 6)),
      onto(floats({5, 3}), floats({0, 3}), indices({0}, 5)),
      onto(floats({3, 2}), floats({6, 2}), integers({6}, -3, 2, DType::kI64)),
      onto(floats({900, 70}), floats({300, 70}), indices({300}, 40)),
      onto(floats({9, 5}, -1, 1, DType::kBF16),
           floats({20, 5}, -1, 1, DType::kBF16), indices({20}, 9)),
      onto(integers({9, 5}, -9, 9), integers({4, 5}, -9, 9), indices({4}, 9))};
}

// Indices are all the same, few, or hardly ever the same.
std::vector<OpSample> coalesce_rows_samples() {
  const auto of = [](InputSample updates, InputSample index, Dim size) {
    return OpSample{{std::move(updates), std::move(index)},
                    {{"size", Shape{size}}}};
  };
  return {of(floats({4, 3}), indices({4}, 5), 5),
          of(floats({6, 3}), indices({6}, 2, DType::kI32), 50),
          of(floats({2, 3, 4}), indices({2, 3}, 3), 6),
          of(floats({5, 3}), indices({5}, 1), 9),
          of(floats({}), indices({}, 6), 6),
          of(floats({0, 3}), indices({0}, 5), 5),
          of(floats({6, 2}), integers({6}, -3, 2, DType::kI64), 3),
          of(floats({400, 70}), indices({400}, 50), 1000),
          of(floats({90, 5}, -1, 1, DType::kBF16), indices({90}, 3), 3),
          of(integers({9, 5}, -9, 9), indices({9}, 3), 3)};
}

// Each update is one addition; its row is read, added to, and written.
Cost add_rows_cost(const OpCall& call) {
  const double updates =
      static_cast<double>(call.input(1).shape.num_elements());
  Cost cost;
  // The table itself does not count: in place, only the rows that are named are
  // touched.
  cost.flops = updates;
  cost.bytes = 3 * static_cast<double>(call.input(1).bytes()) +
               static_cast<double>(call.input(2).bytes());
  return cost;
}

Cost coalesce_rows_cost(const OpCall& call) {
  return Cost::of(call,
                  static_cast<double>(call.input(0).shape.num_elements()));
}

}  // namespace

void register_rows(OpRegistry& ops) {
  ops.add("add_rows")
      .summary("a table with rows added at the indices along its first axis")
      .signature("(x, updates, indices) -> y")
      .infer(infer_add_rows)
      .reference(add_rows_reference)
      .gradient(add_rows_gradient)
      .batch(batch_add_rows)
      .cost(add_rows_cost)
      .samples(add_rows_samples);
  ops.add("coalesce_rows")
      .summary(
          "rows of one index added up in the first of them, zero in others")
      .signature("(updates, indices) -> sums")
      .required("size", Shape())
      .infer(infer_coalesce_rows)
      .reference(coalesce_rows_reference)
      .gradient(coalesce_rows_gradient)
      .batch(batch_coalesce_rows, sum_of_linear_in_first)
      .cost(coalesce_rows_cost)
      .samples(coalesce_rows_samples);
}

Value add_rows(const Operand& x, const Operand& updates,
               const Operand& indices) {
  static const OpDef& op = op_registry().get("add_rows");
  return call(op, {x.value, updates.value, indices.value}, {}, x.location);
}

Value coalesce_rows(const Operand& updates, const Operand& indices, Dim size) {
  static const OpDef& op = op_registry().get("coalesce_rows");
  return call(op, {updates.value, indices.value}, {{"size", Shape{size}}},
              updates.location);
}

}  // namespace weft
