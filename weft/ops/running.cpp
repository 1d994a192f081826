#include "weft/ops/running.h"

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/slice.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"

namespace weft {
namespace {

// Calls visit(place, n) for the n-th element of each line, in the order in
// which it runs: `place` is where the element stands.
template <class Visit>
void along_lines(const OpCall& call, const Shape& shape, Visit&& visit) {
  const AxisCut cut(
      shape, resolved_axis(call.attributes.integer("axis"), shape.rank()));
  const bool is_reverse = call.attributes.flag("reverse");
  for (std::int64_t line = 0; line < cut.outer * cut.inner; ++line) {
    const std::int64_t start =
        line / cut.inner * cut.size * cut.inner + line % cut.inner;
    for (std::int64_t n = 0; n < cut.size; ++n) {
      visit(start + (is_reverse ? cut.size - 1 - n : n) * cut.inner, n);
    }
  }
}

// y_i = x_0 o … o x_i, without x_i if exclusive. In f16 and bf16 what runs is a
// double here, and each place is rounded for itself: rounding as it goes would
// stall long sums.
template <class Combine>
void running_reference(const OpCall& call, const TensorView& x,
                       const TensorView& y, int start, Combine&& combine) {
  const bool is_exclusive = call.attributes.flag("exclusive");
  const auto run = [&]<class Number>(Number running) {
    along_lines(call, x.shape(), [&](std::int64_t place, std::int64_t n) {
      if (n == 0) running = static_cast<Number>(start);
      const Number before = running;
      running = combine(running, load_as<Number>(x, place));
      store_as(y, place, is_exclusive ? before : running);
    });
  };
  if (is_floating(x.dtype()))
    run(double{});
  else
    run(std::int64_t{});
}

void cumsum_reference(const OpCall& call, std::span<const TensorView> inputs,
                      std::span<const TensorView> outputs) {
  running_reference(call, inputs[0], outputs[0], 0, kAdd);
}

void cumprod_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  running_reference(call, inputs[0], outputs[0], 1, kMultiply);
}

void recurrence_reference(const OpCall& call,
                          std::span<const TensorView> inputs,
                          std::span<const TensorView> outputs) {
  double state = 0;
  along_lines(call, inputs[0].shape(), [&](std::int64_t place, std::int64_t n) {
    const auto b = load_as<double>(inputs[1], place);
    state = n == 0 ? b : load_as<double>(inputs[0], place) * state + b;
    store_as(outputs[0], place, state);
  });
}

std::vector<TensorType> infer_running(const OpCall& call) {
  require_number(call);
  const TensorType& x = call.input(0);
  checked_axis(call, call.attributes.integer("axis"), x.shape.rank());
  return {x};
}

std::vector<TensorType> infer_recurrence(const OpCall& call) {
  require_floating(call);
  const TensorType& a = call.input(0);
  const TensorType& b = call.input(1);
  if (a != b) {
    throw call.error("a is {}, and b {}: they must be of one type",
                     to_string(a), to_string(b));
  }
  checked_axis(call, call.attributes.integer("axis"), a.shape.rank());
  return {b};
}

// How an op runs, for its gradient.
struct Run {
  explicit Run(const GradientContext& g)
      : axis(resolved_axis(g.attributes().integer("axis"),
                           g.x(0).shape().rank())),
        is_reverse(g.attributes().flag("reverse")) {}

  // At each place what stands at the place before it, 0 at the first.
  Value before(const Value& x) const { return moved(x, is_reverse); }
  // At each place what stands at the place after it, 0 at the last.
  Value after(const Value& x) const { return moved(x, !is_reverse); }

  // x moved by one place along the axis: to its front or away from it.
  Value moved(const Value& x, bool to_front) const {
    Integers low(static_cast<std::size_t>(x.shape().rank()), 0);
    Integers high = low;
    (to_front ? high : low)[static_cast<std::size_t>(axis)] = 1;
    const Value padded = pad(x, low, high);
    return to_front ? slice_axis(padded, axis, 1, kToEnd)
                    : slice_axis(padded, axis, 0, -1);
  }

  int axis;
  bool is_reverse;
};

// x_j counts in every y_i from i = j on (behind it, if exclusive), so dx_j is
// the running sum of dy from the other end.
Gradients cumsum_gradient(const GradientContext& g) {
  const Run run(g);
  return {cumsum(g.dy(), run.axis, g.attributes().flag("exclusive"),
                 !run.is_reverse)};
}

// dx_j = (Π_(k<j) x_k) s_j, where s_j = Σ_(i≥j) dy_i Π_(j<k≤i) x_k adds up what
// the results behind have beside it, so that s_j = x_(j+1) s_(j+1) + dy_j. No
// quotient is taken, so that zeros are nothing special.
Gradients cumprod_gradient(const GradientContext& g) {
  const Run run(g);
  const Value& x = g.x(0);
  // An exclusive result has the factors of the one before it.
  const Value dy =
      g.attributes().flag("exclusive") ? run.after(g.dy()) : g.dy();
  return {cumprod(x, run.axis, true, run.is_reverse) *
          linear_recurrence(run.after(x), dy, run.axis, !run.is_reverse)};
}

// With g_t = dL/dy_t, all ways counted: g_t = a_(t+1) g_(t+1) + dy_t, which is
// db_t, and da_t = g_t y_(t-1).
Gradients recurrence_gradient(const GradientContext& g) {
  const Run run(g);
  const Value total =
      linear_recurrence(run.after(g.x(0)), g.dy(), run.axis, !run.is_reverse);
  return {total * run.before(g.y()), total};
}

Cost running_cost(const OpCall& call) { return Cost::elementwise(call, 1); }
Cost recurrence_cost(const OpCall& call) { return Cost::elementwise(call, 2); }

OpSample along(std::vector<InputSample> inputs, std::int64_t axis,
               bool is_exclusive, bool is_reverse) {
  return {
      std::move(inputs),
      {{"axis", axis}, {"exclusive", is_exclusive}, {"reverse", is_reverse}}};
}

// Both options go along rows, and along columns, where neighbours run side by
// side.
std::vector<OpSample> cumsum_samples() {
  return {along({floats({3, 5})}, 1, false, false),
          along({floats({3, 5})}, 0, true, false),
          along({floats({2, 3, 4})}, 1, false, true),
          along({floats({6})}, -1, true, true),
          along({floats({0, 2})}, 0, false, false),
          along({floats({1})}, 0, true, false),
          along({floats({70, 300})}, 1, false, false),
          along({floats({50, 67})}, 0, true, true),
          along({integers({30}, -9, 9)}, 0, false, false),
          along({floats({40}, -1, 1, DType::kBF16)}, 0, false, false)};
}

// Values lie near 1 in long lines, so that neither the product nor its gradient
// vanishes.
std::vector<OpSample> cumprod_samples() {
  return {along({floats({3, 5})}, 1, false, false),
          along({floats({3, 5})}, 0, true, false),
          along({floats({2, 3, 4})}, 1, false, true),
          along({floats({6})}, -1, true, true),
          along({floats({0, 2})}, 0, false, false),
          along({floats({1})}, 0, true, false),
          along({floats({70, 100}, 0.9, 1.1)}, 1, false, false),
          along({floats({50, 67}, 0.9, 1.1)}, 0, true, true),
          along({integers({9}, -3, 3)}, 0, false, false),
          along({integers({5, 4}, -9, 9, DType::kI64)}, 0, false, true),
          along({floats({20}, 0.9, 1.1, DType::kBF16)}, 0, false, false)};
}

std::vector<OpSample> recurrence_samples() {
  const auto run = [](const Shape& shape, std::int64_t axis, bool is_reverse,
                      DType dtype = DType::kF32) {
    return OpSample{{floats(shape, -1, 1, dtype), floats(shape, -1, 1, dtype)},
                    {{"axis", axis}, {"reverse", is_reverse}}};
  };
  return {run({3, 5}, 1, false),
          run({3, 5}, 0, true),
          run({2, 3, 4}, 1, false),
          run({6}, -1, true),
          run({0, 2}, 0, false),
          run({2, 0}, 0, true),
          run({1}, 0, false),
          run({70, 100}, 1, true),
          run({50, 67}, 0, false),
          run({9, 5}, 0, false, DType::kF64),
          run({20}, 0, false, DType::kBF16)};
}

void export_cumsum(OnnxContext& c) {
  c.set(c.emit(
      "CumSum",
      {c.x(0), c.number(static_cast<double>(c.attributes().integer("axis")),
                        DType::kI64)},
      {{"exclusive", std::int64_t{c.attributes().flag("exclusive")}},
       {"reverse", std::int64_t{c.attributes().flag("reverse")}}}));
}

Value call_running(const OpDef& op, const Operand& x, std::int64_t axis,
                   bool is_exclusive, bool is_reverse) {
  return call(
      op, {x.value},
      {{"axis", axis}, {"exclusive", is_exclusive}, {"reverse", is_reverse}},
      x.location);
}

}  // namespace

void register_running(OpRegistry& ops) {
  ops.add("cumsum")
      .summary("running sum along an axis")
      .signature("(x) -> y")
      .required("axis", std::int64_t{0})
      .attribute("exclusive", false)
      .attribute("reverse", false)
      .infer(infer_running)
      .reference(cumsum_reference)
      .gradient(cumsum_gradient)
      .batch(batch_along_axis, sum_of_linear)
      .onnx(export_cumsum)
      .cost(running_cost)
      .samples(cumsum_samples);
  ops.add("cumprod")
      .summary("running product along an axis")
      .signature("(x) -> y")
      .required("axis", std::int64_t{0})
      .attribute("exclusive", false)
      .attribute("reverse", false)
      .infer(infer_running)
      .reference(cumprod_reference)
      .gradient(cumprod_gradient)
      .batch(batch_along_axis)
      .cost(running_cost)
      .samples(cumprod_samples);
  ops.add("linear_recurrence")
      .summary("a times the result before it along an axis, plus b")
      .signature("(a, b) -> y")
      .required("axis", std::int64_t{0})
      .attribute("reverse", false)
      .infer(infer_recurrence)
      .reference(recurrence_reference)
      .gradient(recurrence_gradient)
      .batch(batch_along_axis)
      .cost(recurrence_cost)
      .samples(recurrence_samples);
}

Value cumsum(const Operand& x, std::int64_t axis, bool exclusive,
             bool reverse) {
  static const OpDef& op = op_registry().get("cumsum");
  return call_running(op, x, axis, exclusive, reverse);
}

Value cumprod(const Operand& x, std::int64_t axis, bool exclusive,
              bool reverse) {
  static const OpDef& op = op_registry().get("cumprod");
  return call_running(op, x, axis, exclusive, reverse);
}

Value linear_recurrence(const Operand& a, const Operand& b, std::int64_t axis,
                        bool reverse) {
  static const OpDef& op = op_registry().get("linear_recurrence");
  return call(op, {a.value, b.value}, {{"axis", axis}, {"reverse", reverse}},
              a.location);
}

}  // namespace weft
