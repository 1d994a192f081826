#include "weft/ops/scatter.h"

#include <algorithm>
#include <array>

#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/moves.h"
#include "weft/ops/support/nd_rows.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

constexpr std::array kModes{ScatterMode::kSet, ScatterMode::kAdd,
                            ScatterMode::kMax, ScatterMode::kMin};

ScatterMode mode_of(const Attributes& attributes) {
  // Inference has checked that there is such a mode.
  return *std::ranges::find_if(kModes, [&](ScatterMode mode) {
    return to_string(mode) == attributes.text("mode");
  });
}

NdRows nd_rows_of(const OpCall& call, const TensorView& x,
                  const TensorView& indices) {
  return {x.shape(), indices.shape(), call.attributes.integer("batch_dims")};
}

// The row of x that a tuple of the indices names.
std::int64_t named_row(const NdRows& nd, const TensorView& indices,
                       std::int64_t tuple) {
  return nd.row(
      tuple, [&](std::int64_t i) { return load_as<std::int64_t>(indices, i); });
}

void gather_nd_reference(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs) {
  const NdRows nd = nd_rows_of(call, inputs[0], inputs[1]);
  for (std::int64_t tuple = 0; tuple < nd.tuples; ++tuple) {
    const std::int64_t row = named_row(nd, inputs[1], tuple);
    for (std::int64_t n = 0; n < nd.width; ++n) {
      copy_element(outputs[0], tuple * nd.width + n, inputs[0],
                   row * nd.width + n);
    }
  }
}

// Calls update(place in x, element of the updates) in order.
template <class Update>
void for_each_update(const OpCall& call, std::span<const TensorView> inputs,
                     Update&& update) {
  const NdRows nd = nd_rows_of(call, inputs[0], inputs[1]);
  // The order is part of the meaning: of several updates of a row, "set" keeps
  // the last.
  for (std::int64_t i = 0; i < inputs[2].size(); ++i) {
    const std::int64_t row = named_row(nd, inputs[1], i / nd.width);
    update(row * nd.width + i % nd.width, i);
  }
}

// Every row is folded with its updates by `step`.
template <class Step>
void fold_updates(const OpCall& call, std::span<const TensorView> inputs,
                  const TensorView& y, Step&& step) {
  // A double cannot hold every i64, and an integer no fraction.
  const auto run = [&]<class Number>(Number) {
    for_each_update(call, inputs, [&](std::int64_t place, std::int64_t i) {
      store_as(y, place,
               step(load_as<Number>(y, place), load_as<Number>(inputs[2], i)));
    });
  };
  if (is_floating(y.dtype()))
    run(double{});
  else
    run(std::int64_t{});
}

void scatter_nd_reference(const OpCall& call,
                          std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs) {
  const TensorView& x = inputs[0];
  const TensorView& y = outputs[0];
  for (std::int64_t i = 0; i < x.size(); ++i) copy_element(y, i, x, i);
  switch (mode_of(call.attributes)) {
    case ScatterMode::kSet:
      return for_each_update(call, inputs,
                             [&](std::int64_t place, std::int64_t i) {
                               copy_element(y, place, inputs[2], i);
                             });
    case ScatterMode::kAdd:
      // x is added again here, as accumulate() starts from zeros: so x and its
      // updates are rounded once, and together.
      return accumulate(y, [&](auto&& add) {
        for (std::int64_t i = 0; i < x.size(); ++i) add(x, i, i);
        for_each_update(call, inputs, [&](std::int64_t place, std::int64_t i) {
          add(inputs[2], i, place);
        });
      });
    // NaN wins, as in NumPy.
    case ScatterMode::kMax:
      return fold_updates(call, inputs, y, [](auto a, auto b) {
        return b > a || b != b ? b : a;
      });
    case ScatterMode::kMin:
      return fold_updates(call, inputs, y, [](auto a, auto b) {
        return b < a || b != b ? b : a;
      });
  }
}

// The shape of the rows that the indices name.
Shape named_shape(const OpCall& call) {
  require_indices(call, 1);
  const Shape& x = call.input(0).shape;
  const Shape& indices = call.input(1).shape;
  if (indices.rank() == 0) {
    throw call.error("indices have no last axis")
        .hint("along it stand the indices of one row");
  }
  const std::int64_t batch = call.attributes.integer("batch_dims");
  if (batch < 0 || batch >= indices.rank() || batch >= x.rank()) {
    throw call.error("batch_dims {} is outside [0, {})", batch,
                     std::min(indices.rank(), x.rank()));
  }
  // They are not broadcast: each batch of tuples belongs to the batch of rows
  // at its place.
  const int batch_axes = static_cast<int>(batch);
  for (int axis = 0; axis < batch_axes; ++axis) {
    if (x[axis] == indices[axis]) continue;
    throw call.error("batch axis {} is {} in x, but {} in indices", axis,
                     to_string(x[axis]), to_string(indices[axis]));
  }
  const Dim depth = indices.back();
  if (depth < 1 || depth > x.rank() - batch) {
    throw call
        .error("tuples of {} indices do not name rows of {} axes",
               to_string(depth), x.rank() - batch)
        .hint("the last axis of indices is at most as long as x has axes");
  }
  // Places are what is named; a tuple is one of them, whatever its length.
  const Shape places(indices.first(indices.rank() - 1));
  // An axis that is empty has nothing to name, unless there are no tuples.
  for (int i = 0; i < static_cast<int>(depth); ++i) {
    require_choice(call, x[batch_axes + i], places);
  }
  Shape shape = places;
  for (const Dim dim :
       x.last(x.rank() - batch_axes - static_cast<int>(depth))) {
    shape.push_back(dim);
  }
  return shape;
}

std::vector<TensorType> infer_gather_nd(const OpCall& call) {
  return {{call.input(0).dtype, named_shape(call)}};
}

std::vector<TensorType> infer_scatter_nd(const OpCall& call) {
  // Updates do not broadcast, and have x's dtype: a kernel adds them in where
  // they lie.
  const TensorType& x = call.input(0);
  const TensorType expected{x.dtype, named_shape(call)};
  if (call.input(2) != expected) {
    throw call.error("updates must be {}", to_string(expected))
        .hint("the axes of indices but the last one, then those of a row of x");
  }
  const std::string& mode = call.attributes.text("mode");
  if (std::ranges::none_of(
          kModes, [&](ScatterMode each) { return mode == to_string(each); })) {
    throw call.error("there is no mode '{}'", mode)
        .hint("mode is \"set\", \"add\", \"max\" or \"min\"");
  }
  if (mode != "set" && x.dtype == DType::kBool) {
    throw call.error("bools have no {}", mode).hint("mode \"set\" takes them");
  }
  return {x};
}

Gradients gather_nd_gradient(const GradientContext& g) {
  // A row that was taken twice has the sum of both gradients.
  return {scatter_nd(zeros_like(g.x(0)), g.x(1), g.dy(), ScatterMode::kAdd,
                     g.attributes().integer("batch_dims")),
          Value()};
}

// Where an update is the last one of its row: [b…, q…, 1…], to be broadcast.
Value is_last(const GradientContext& g) {
  const std::int64_t batch = g.attributes().integer("batch_dims");
  const Shape& x = g.x(0).shape();
  const Shape& indices = g.x(1).shape();
  const Shape places(indices.first(indices.rank() - 1));
  const int named = static_cast<int>(batch) + static_cast<int>(indices.back());
  // Each update is numbered, and the numbers are set in the order of updates:
  // what stands at a row in the end is the number of its last one.
  const Value number = reshape(iota(dim_product(places.dims())), places);
  // Rows that nothing names keep -1, and are not asked for.
  const Value none = full({DType::kI64, Shape(x.first(named))}, -1);
  const Value last = scatter_nd(none, g.x(1), number, ScatterMode::kSet, batch);
  Shape column = places;
  column.resize(g.x(2).shape().rank(), 1);
  return reshape(equal(gather_nd(last, g.x(1), batch), number), column);
}

Gradients set_gradient(const GradientContext& g) {
  const std::int64_t batch = g.attributes().integer("batch_dims");
  // The old values of the rows are gone, so that nothing flows to them.
  const Value kept =
      scatter_nd(g.dy(), g.x(1), zeros_like(g.x(2)), ScatterMode::kSet, batch);
  const Value flow = gather_nd(g.dy(), g.x(1), batch);
  return {kept, Value(), where(is_last(g), flow, scalar_like(flow, 0))};
}

// All that are equal to the result share its gradient.
Gradients extremum_gradient_nd(const GradientContext& g) {
  const std::int64_t batch = g.attributes().integer("batch_dims");
  const Value& indices = g.x(1);
  // Winners are counted in this dtype, which is exact as long as few share a
  // place.
  const DType dtype = g.dy().dtype();
  const Value zero = scalar_like(g.dy(), 0);
  const Value x_wins = equal(g.x(0), g.y());
  // y holds what came out of all updates of a row: one that equals it is among
  // the largest.
  const Value update_wins = equal(g.x(2), gather_nd(g.y(), indices, batch));
  const Value winners =
      scatter_nd(cast(x_wins, dtype), indices, cast(update_wins, dtype),
                 ScatterMode::kAdd, batch);
  // The gradient is shared equally among ties, so that its sum is the same with
  // ties as without. Nothing divides by zero: somebody won each place.
  const Value share = g.dy() / winners;
  return {where(x_wins, share, zero), Value(),
          where(update_wins, gather_nd(share, indices, batch), zero)};
}

Gradients scatter_nd_gradient(const GradientContext& g) {
  const std::int64_t batch = g.attributes().integer("batch_dims");
  switch (mode_of(g.attributes())) {
    case ScatterMode::kSet:
      return set_gradient(g);
    case ScatterMode::kAdd:
      return {g.dy(), Value(), gather_nd(g.dy(), g.x(1), batch)};
    default:
      return extremum_gradient_nd(g);
  }
}

// The instances are one batch axis more.
std::vector<Value> batch_nd(const BatchContext& g) {
  Attributes attributes = g.attributes();
  attributes.set("batch_dims", attributes.integer("batch_dims") + 1);
  std::vector<Value> inputs;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    inputs.push_back(stacked(g, i));
  }
  return call_all(g.op(), inputs, attributes, {});
}

// Indices into what all instances share have one axis more.
std::vector<Value> batch_gather_nd(const BatchContext& g) {
  if (g.is_batched(0) || g.attributes().integer("batch_dims") > 0) {
    return batch_nd(g);
  }
  return {gather_nd(g.x(0), g.x(1))};
}

// Tuples name elements, rows and matrices, with and without axes of a batch.
std::vector<OpSample> gather_nd_samples() {
  const auto of = [](InputSample x, InputSample index,
                     std::int64_t batch_dims = 0) {
    return OpSample{{std::move(x), std::move(index)},
                    {{"batch_dims", batch_dims}}};
  };
  return {of(floats({5, 6}), indices({4, 2}, 5)),
          of(floats({5, 6}), indices({3, 4, 1}, 5, DType::kI32)),
          of(floats({5, 6, 7}), indices({3, 2}, 5)),
          of(floats({3, 5, 6}), indices({3, 4, 2}, 5), 1),
          of(floats({2, 3, 5}), indices({2, 3, 1}, 5), 2),
          of(floats({6}), indices({1}, 6)),
          of(floats({5, 3}), indices({0, 2}, 3)),
          of(floats({0, 3}), indices({0, 1}, 3)),
          of(floats({3, 4, 2}), integers({6, 2}, -3, 2, DType::kI64)),
          of(floats({50, 7, 70}), indices({40, 2}, 7)),
          of(floats({9, 5}, -1, 1, DType::kBF16), indices({4, 2}, 5)),
          of(integers({9, 5}, -9, 9, DType::kU8), indices({4, 2}, 5))};
}

// Each mode meets several updates of one place, as their order decides what
// kSet leaves.
std::vector<OpSample> scatter_nd_samples() {
  std::vector<OpSample> samples;
  const auto add = [&](InputSample x, InputSample index, InputSample updates,
                       std::int64_t batch_dims = 0) {
    for (const ScatterMode mode : kModes) {
      samples.push_back({{x, index, updates},
                         {{"mode", std::string(to_string(mode))},
                          {"batch_dims", batch_dims}}});
    }
  };
  add(floats({5, 6}), indices({9, 2}, 2), floats({9}));
  add(floats({5, 6}), indices({2, 4, 1}, 5, DType::kI32), floats({2, 4, 6}));
  add(floats({3, 4, 2}), integers({7, 2}, -3, 2, DType::kI64), floats({7, 2}));
  add(floats({3, 5, 4}), indices({3, 6, 1}, 5), floats({3, 6, 4}), 1);
  add(floats({6}), indices({1}, 6), floats({}));
  add(floats({5, 3}), indices({0, 2}, 3), floats({0}));
  add(floats({0, 3}), indices({0, 1}, 3), floats({0, 3}));
  add(floats({40, 170}), indices({300, 1}, 40), floats({300, 170}));
  add(floats({500, 9}), indices({700, 2}, 9), floats({700}));
  add(floats({9, 5}, -1, 1, DType::kBF16), indices({20, 1}, 4),
      floats({20, 5}, -1, 1, DType::kBF16));
  add(integers({9, 5}, -9, 9), indices({20, 2}, 4), integers({20}, -9, 9));
  add(integers({9}, 0, 9, DType::kU8), indices({20, 1}, 4),
      integers({20}, 0, 9, DType::kU8));
  return samples;
}

Cost gather_nd_cost(const OpCall& call) {
  Cost cost;
  cost.bytes = 2 * static_cast<double>(call.outputs[0].bytes()) +
               static_cast<double>(call.input(1).bytes());
  return cost;
}

// Each row that is named is read, changed and written; in place, no other.
Cost scatter_nd_cost(const OpCall& call) {
  Cost cost;
  cost.flops = static_cast<double>(call.input(2).shape.num_elements());
  cost.bytes = 3 * static_cast<double>(call.input(2).bytes()) +
               static_cast<double>(call.input(1).bytes());
  return cost;
}

// ONNX's indices are i64 here.
std::string onnx_tuples(OnnxContext& c) {
  if (c.type(1).dtype == DType::kI64) return c.x(1);
  return c.emit("Cast", {c.x(1)}, {{"to", DType::kI64}});
}

void export_gather_nd(OnnxContext& c) {
  c.set(c.emit("GatherND", {c.x(0), onnx_tuples(c)},
               {{"batch_dims", c.attributes().integer("batch_dims")}}));
}

void export_scatter_nd(OnnxContext& c) {
  if (c.attributes().integer("batch_dims") != 0) {
    throw c.unsupported("ONNX's ScatterND has no batch axes");
  }
  const std::string& mode = c.attributes().text("mode");
  c.set(c.emit("ScatterND", {c.x(0), onnx_tuples(c), c.x(2)},
               {{"reduction", mode == "set" ? std::string("none") : mode}}));
}

}  // namespace

std::string_view to_string(ScatterMode mode) {
  switch (mode) {
    case ScatterMode::kSet:
      return "set";
    case ScatterMode::kAdd:
      return "add";
    case ScatterMode::kMax:
      return "max";
    case ScatterMode::kMin:
      return "min";
  }
  return "";
}

void register_scatter(OpRegistry& ops) {
  ops.add("gather_nd")
      .summary("rows that tuples of indices name, along the first axes")
      .signature("(x, indices) -> y")
      .attribute("batch_dims", std::int64_t{0})
      .infer(infer_gather_nd)
      .reference(gather_nd_reference)
      .gradient(gather_nd_gradient)
      .batch(batch_gather_nd, sum_of_linear_in_first)
      .onnx(export_gather_nd)
      .cost(gather_nd_cost)
      .samples(gather_nd_samples);
  ops.add("scatter_nd")
      .summary("x with rows set, added to, or raised or lowered to updates")
      .signature("(x, indices, updates) -> y")
      .attribute("mode", std::string("set"))
      .attribute("batch_dims", std::int64_t{0})
      .infer(infer_scatter_nd)
      .reference(scatter_nd_reference)
      .gradient(scatter_nd_gradient)
      .batch(batch_nd)
      .onnx(export_scatter_nd)
      .cost(scatter_nd_cost)
      .samples(scatter_nd_samples);
}

Value gather_nd(const Operand& x, const Operand& indices,
                std::int64_t batch_dims) {
  static const OpDef& op = op_registry().get("gather_nd");
  return call(op, {x.value, indices.value}, {{"batch_dims", batch_dims}},
              x.location);
}

Value scatter_nd(const Operand& x, const Operand& indices,
                 const Operand& updates, ScatterMode mode,
                 std::int64_t batch_dims) {
  static const OpDef& op = op_registry().get("scatter_nd");
  return call(
      op, {x.value, indices.value, updates.value},
      {{"mode", std::string(to_string(mode))}, {"batch_dims", batch_dims}},
      x.location);
}

}  // namespace weft
