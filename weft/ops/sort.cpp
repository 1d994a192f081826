#include "weft/ops/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/graph/registry.h"
#include "weft/ops/constant.h"
#include "weft/ops/pick.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"

namespace weft {
namespace {

// The order of all ops here: NaN above every number, so that it is total.
// Sorting by < alone is undefined where there are NaNs.
template <class Number>
bool is_below(Number a, Number b) {
  return a < b || (b != b && a == a);
}

// Orders each line along the axis and keeps its first `count` elements.
void order_lines(const OpCall& call, const TensorView& x,
                 std::span<const TensorView> outputs, std::int64_t count,
                 bool descending) {
  const AxisCut cut(x.shape(), resolved_axis(call.attributes.integer("axis"),
                                             x.shape().rank()));
  // The sort moves positions and leaves the values where they are: both results
  // come from it.
  std::vector<std::int64_t> order(static_cast<std::size_t>(cut.size));
  const auto run = [&]<class Number>(Number) {
    for (std::int64_t line = 0; line < cut.outer * cut.inner; ++line) {
      const std::int64_t outer = line / cut.inner;
      const std::int64_t column = line % cut.inner;
      const auto value = [&](std::int64_t i) {
        return load_as<Number>(x, (outer * cut.size + i) * cut.inner + column);
      };
      std::iota(order.begin(), order.end(), 0);
      // The sort is stable, so ties keep the lower position first. For a
      // descending order the operands change places: reversing the result would
      // reverse ties.
      std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
        return descending ? is_below(value(b), value(a))
                          : is_below(value(a), value(b));
      });
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t from = order[static_cast<std::size_t>(i)];
        const std::int64_t to = (outer * count + i) * cut.inner + column;
        store_as(outputs[0], to, value(from));
        outputs[1].as<std::int64_t>()[to] = from;
      }
    }
  };
  if (is_floating(x.dtype()))
    run(double{});
  else
    run(std::int64_t{});
}

void top_k_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  order_lines(call, inputs[0], outputs, call.attributes.integer("k"), true);
}

void sort_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const Shape& shape = inputs[0].shape();
  const int axis = resolved_axis(call.attributes.integer("axis"), shape.rank());
  order_lines(call, inputs[0], outputs, shape[axis],
              call.attributes.flag("descending"));
}

int checked_axis_of(const OpCall& call) {
  return checked_axis(call, call.attributes.integer("axis"),
                      call.input(0).shape.rank());
}

std::vector<TensorType> infer_top_k(const OpCall& call) {
  require_number(call);
  const int axis = checked_axis_of(call);
  TensorType y = call.input(0);
  const std::int64_t k = call.attributes.integer("k");
  const Dim size = y.shape[axis];
  if (k < 1 || (size >= 0 && k > size)) {
    throw call.error("k = {} is outside [1, {}]", k, size);
  }
  y.shape[axis] = k;
  return {y, {DType::kI64, y.shape}};
}

std::vector<TensorType> infer_sort(const OpCall& call) {
  require_number(call);
  checked_axis_of(call);
  const TensorType& x = call.input(0);
  return {x, {DType::kI64, x.shape}};
}

// The values came from their positions: that is where the gradient goes. As
// positions of a row differ, dx[positions[i]] = dv[i].
Gradients order_gradient(const GradientContext& g) {
  if (!g.dy(0).is_defined()) return {Value()};
  const Shape& shape = g.x(0).shape();
  const int axis = resolved_axis(g.attributes().integer("axis"), shape.rank());
  return {pick_scatter(g.dy(0), g.y(1), shape[axis], true, axis)};
}

// A heap or a merge takes about n log n comparisons; each element counts one at
// least.
Cost order_cost(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const int axis = resolved_axis(call.attributes.integer("axis"), shape.rank());
  const double size = static_cast<double>(shape[axis]);
  const double count = static_cast<double>(call.input(0).shape.num_elements());
  return Cost::of(call, count * std::max(1.0, std::log2(size + 1)));
}

// Few of many and many of few are found in different ways. Small integers have
// ties, of which the lower position goes first.
std::vector<OpSample> top_k_samples() {
  const auto largest = [](InputSample x, std::int64_t k,
                          std::int64_t axis = -1) {
    return OpSample{{std::move(x)}, {{"k", k}, {"axis", axis}}};
  };
  return {largest(floats({3, 7}), 2),
          largest(floats({5}), 5),
          largest(floats({1}), 1),
          largest(floats({2, 3, 4}), 1),
          largest(floats({0, 3}), 2),
          largest(floats({20, 1000}), 5),
          largest(floats({3, 300}), 100),
          largest(integers({4, 50}, -3, 3), 7),
          largest(integers({4, 50}, -3, 3, DType::kI64), 7),
          largest(floats({4, 9}, -1, 1, DType::kBF16), 3),
          largest(floats({4, 9}, -1, 1, DType::kF64), 3),
          largest(floats({7, 3}), 2, 0),
          largest(floats({2, 300, 3}), 5, 1),
          largest(floats({2, 0}), 1, 0)};
}

// Small integers show whether the sort is stable.
std::vector<OpSample> sort_samples() {
  const auto order = [](InputSample x, bool descending,
                        std::int64_t axis = -1) {
    return OpSample{{std::move(x)},
                    {{"descending", descending}, {"axis", axis}}};
  };
  return {order(floats({3, 7}), false),
          order(floats({3, 7}), true),
          order(floats({1}), false),
          order(floats({0}), false),
          order(floats({3, 0}), false),
          order(floats({2, 500}), false),
          order(floats({2, 500}), true),
          order(integers({3, 60}, -4, 4), true),
          order(integers({3, 60}, -4, 4, DType::kI64), false),
          order(integers({200}, 0, 255, DType::kU8), false),
          order(floats({90}, -1, 1, DType::kBF16), true),
          order(floats({40}, -1, 1, DType::kF64), false),
          order(floats({7, 3}), false, 0),
          order(integers({2, 70, 3}, -4, 4), true, -2),
          order(floats({3, 0}), false, 0)};
}

void export_top(OnnxContext& c, const std::string& count, bool descending) {
  const auto results = c.emit("TopK", {c.x(0), count},
                              {{"axis", c.attributes().integer("axis")},
                               {"largest", std::int64_t{descending}}},
                              2);
  c.set(0, results[0]);
  c.set(1, results[1]);
}

void export_top_k(OnnxContext& c) {
  export_top(c, c.list({c.attributes().integer("k")}), true);
}

void export_sort(OnnxContext& c) {
  const Shape& shape = c.type(0).shape;
  const int axis = resolved_axis(c.attributes().integer("axis"), shape.rank());
  export_top(c, c.shape({shape[axis]}), c.attributes().flag("descending"));
}

}  // namespace

void register_sort(OpRegistry& ops) {
  ops.add("top_k")
      .summary("the k largest along an axis, descending, and where")
      .signature("(x) -> values, positions")
      .required("k", std::int64_t{0})
      .attribute("axis", std::int64_t{-1})
      .infer(infer_top_k)
      .reference(top_k_reference)
      .gradient(order_gradient)
      .batch(batch_along_axis)
      .onnx(export_top_k)
      .cost(order_cost)
      .samples(top_k_samples);
  ops.add("sort")
      .summary("an axis in stable order, and where it came from")
      .signature("(x) -> values, positions")
      .attribute("descending", false)
      .attribute("axis", std::int64_t{-1})
      .infer(infer_sort)
      .reference(sort_reference)
      .gradient(order_gradient)
      .batch(batch_along_axis)
      .onnx(export_sort)
      .cost(order_cost)
      .samples(sort_samples);
}

std::pair<Value, Value> top_k(const Operand& x, std::int64_t k,
                              std::int64_t axis) {
  static const OpDef& op = op_registry().get("top_k");
  auto results =
      call_all(op, {x.value, 1}, {{"k", k}, {"axis", axis}}, x.location);
  return {std::move(results[0]), std::move(results[1])};
}

std::pair<Value, Value> sort(const Operand& x, bool descending,
                             std::int64_t axis) {
  static const OpDef& op = op_registry().get("sort");
  auto results =
      call_all(op, {x.value, 1}, {{"descending", descending}, {"axis", axis}},
               x.location);
  return {std::move(results[0]), std::move(results[1])};
}

}  // namespace weft
