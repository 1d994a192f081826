// Softmax and its logarithm along an axis. Their gradients are primitives, so
// that a kernel can read each row once for its sum and for what it becomes.
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/loss.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/log_sum_exp.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

std::vector<TensorType> infer_softmax(const OpCall& call) {
  require_floating(call);
  checked_axis(call, call.attributes.integer("axis"),
               call.input(0).shape.rank());
  return {call.input(0)};
}

std::vector<TensorType> infer_softmax_gradient(const OpCall& call) {
  if (!(call.input(1) == call.input(0))) {
    throw call.error("dy must be {}, as y is", to_string(call.input(0)));
  }
  return infer_softmax(call);
}

// Calls body(place) for each line along the axis, where place(n) is that of its
// n-th element.
template <class Body>
void for_each_line(const OpCall& call, const AxisCut& cut, Body&& body) {
  // An axis of no elements has lines, but nothing in them to write.
  if (call.input(0).shape.num_elements() == 0) return;
  for (std::int64_t i = 0; i < cut.outer * cut.inner; ++i) {
    const std::int64_t start =
        i / cut.inner * cut.size * cut.inner + i % cut.inner;
    body([&](std::int64_t n) { return start + n * cut.inner; });
  }
}

AxisCut softmax_cut(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  return {shape, resolved_axis(call.attributes.integer("axis"), shape.rank())};
}

// y = function(x - log sum exp x), line by line along an axis. The function is
// exp for softmax and nothing for its logarithm, so log_softmax never takes the
// logarithm of a small number.
template <class Function>
void normalise_lines(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs, Function&& function) {
  const AxisCut cut = softmax_cut(call);
  std::vector<double> line(static_cast<std::size_t>(cut.size));
  for_each_line(call, cut, [&](auto&& place) {
    // log_sum_exp() takes a span, and elements along an inner axis do not lie
    // side by side.
    for (std::int64_t n = 0; n < cut.size; ++n) {
      line[static_cast<std::size_t>(n)] = load_as<double>(inputs[0], place(n));
    }
    const double lse = log_sum_exp(line);
    for (std::int64_t n = 0; n < cut.size; ++n) {
      store_as(outputs[0], place(n),
               function(line[static_cast<std::size_t>(n)] - lse));
    }
  });
}

void softmax_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  normalise_lines(call, inputs, outputs, [](double x) { return std::exp(x); });
}

void log_softmax_reference(const OpCall& call,
                           std::span<const TensorView> inputs,
                           std::span<const TensorView> outputs) {
  normalise_lines(call, inputs, outputs, [](double x) { return x; });
}

// dx = element(y, dy, Σ term(y, dy)), line by line along the axis.
template <class Term, class Element>
void go_back_along_lines(const OpCall& call, std::span<const TensorView> inputs,
                         std::span<const TensorView> outputs, Term&& term,
                         Element&& element) {
  const AxisCut cut = softmax_cut(call);
  for_each_line(call, cut, [&](auto&& place) {
    const auto y = [&](std::int64_t n) {
      return load_as<double>(inputs[0], place(n));
    };
    const auto dy = [&](std::int64_t n) {
      return load_as<double>(inputs[1], place(n));
    };
    // The sum goes over the whole line, so that it comes before the first
    // element is written.
    double total = 0;
    for (std::int64_t n = 0; n < cut.size; ++n) total += term(y(n), dy(n));
    for (std::int64_t n = 0; n < cut.size; ++n) {
      store_as(outputs[0], place(n), element(y(n), dy(n), total));
    }
  });
}

void softmax_gradient_reference(const OpCall& call,
                                std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs) {
  go_back_along_lines(
      call, inputs, outputs, [](double y, double dy) { return y * dy; },
      [](double y, double dy, double total) { return y * (dy - total); });
}

void log_softmax_gradient_reference(const OpCall& call,
                                    std::span<const TensorView> inputs,
                                    std::span<const TensorView> outputs) {
  go_back_along_lines(
      call, inputs, outputs, [](double, double dy) { return dy; },
      [](double y, double dy, double total) {
        return dy - std::exp(y) * total;
      });
}

// With dy_k/dx_j = y_k ([k = j] - y_j), dx = y (dy - Σ dy y).
std::vector<Value> lower_softmax_gradient(const Attributes& attributes,
                                          std::span<const Value> inputs) {
  const Value& y = inputs[0];
  const Value& dy = inputs[1];
  return {y * (dy - sum(y * dy, {attributes.integer("axis")}, true))};
}

// With dy_k/dx_j = [k = j] - p_j and p = exp(y), dx = dy - p Σ dy.
std::vector<Value> lower_log_softmax_gradient(const Attributes& attributes,
                                              std::span<const Value> inputs) {
  const Value& dy = inputs[1];
  return {dy - exp(inputs[0]) * sum(dy, {attributes.integer("axis")}, true)};
}

Gradients softmax_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get("softmax_gradient");
  // The gradient needs y alone, so that x need not be kept.
  return {call(op, {&g.y(), &g.dy()}, g.attributes(), {})};
}

Gradients log_softmax_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get("log_softmax_gradient");
  return {call(op, {&g.y(), &g.dy()}, g.attributes(), {})};
}

template <int kFlops>
Cost softmax_cost(const OpCall& call) {
  return Cost::of(
      call, kFlops * static_cast<double>(call.input(0).shape.num_elements()));
}

// Logits of up to 30 make rows that one element dominates.
std::vector<OpSample> softmax_samples() {
  const auto along = [](InputSample x, std::int64_t axis) {
    return OpSample{{std::move(x)}, {{"axis", axis}}};
  };
  return {along(floats({3, 5}, -3, 3), -1),
          along(floats({2, 3, 4}, -30, 30), -1),
          along(floats({7}), -1),
          along(floats({4, 1}), -1),
          along(floats({0, 3}), -1),
          along(floats({3, 37}, -3, 3, DType::kBF16), -1),
          along(floats({3, 5}, -3, 3), 0),
          along(floats({2, 3, 4}, -30, 30), 1),
          along(floats({1, 4}), 0),
          along(floats({3, 0}), 0),
          along(floats({2, 5, 301}, -3, 3), -2),
          along(floats({37, 3}, -3, 3, DType::kBF16), 0)};
}

// The rule is a polynomial of y and dy, so that y need not be a softmax for it.
std::vector<OpSample> softmax_gradient_samples() {
  std::vector<OpSample> samples = softmax_samples();
  for (OpSample& sample : samples) {
    const TensorType type = sample.inputs[0].type;
    sample.inputs = {floats(type.shape, -1, 1, type.dtype),
                     floats(type.shape, -1, 1, type.dtype)};
  }
  return samples;
}

}  // namespace

void register_softmax(OpRegistry& ops) {
  ops.add("softmax")
      .summary("exp(x) over the sum of exp(x) along an axis")
      .signature("(x) -> y")
      .attribute("axis", std::int64_t{-1})
      .infer(infer_softmax)
      .reference(softmax_reference)
      .gradient(softmax_rule)
      .batch(batch_along_axis)
      .onnx(onnx_along_axis<"Softmax">)
      // Subtract, exponentiate (counted as eight) and add.
      .cost(softmax_cost<10>)
      .samples(softmax_samples);
  ops.add("softmax_gradient")
      .summary("y * (dy - the sum of y * dy along the axis)")
      .signature("(y, dy) -> dx")
      .attribute("axis", std::int64_t{-1})
      .infer(infer_softmax_gradient)
      .reference(softmax_gradient_reference)
      .lower(lower_softmax_gradient)
      .gradient(lowered_gradient)
      .batch(batch_along_axis)
      .cost(softmax_cost<4>)
      .samples(softmax_gradient_samples);
  ops.add("log_softmax")
      .summary("log(softmax(x)), without overflow")
      .signature("(x) -> y")
      .attribute("axis", std::int64_t{-1})
      .infer(infer_softmax)
      .reference(log_softmax_reference)
      .gradient(log_softmax_rule)
      .batch(batch_along_axis)
      .onnx(onnx_along_axis<"LogSoftmax">)
      // Subtract, exponentiate (counted as eight) and add.
      .cost(softmax_cost<10>)
      .samples(softmax_samples);
  ops.add("log_softmax_gradient")
      .summary("dy - exp(y) * the sum of dy along the axis")
      .signature("(y, dy) -> dx")
      .attribute("axis", std::int64_t{-1})
      .infer(infer_softmax_gradient)
      .reference(log_softmax_gradient_reference)
      .lower(lower_log_softmax_gradient)
      .gradient(lowered_gradient)
      .batch(batch_along_axis)
      .cost(softmax_cost<11>)
      .samples(softmax_gradient_samples);
}

Value softmax(const Operand& x, std::int64_t axis) {
  static const OpDef& op = op_registry().get("softmax");
  return call(op, {x.value}, {{"axis", axis}}, x.location);
}

Value log_softmax(const Operand& x, std::int64_t axis) {
  static const OpDef& op = op_registry().get("log_softmax");
  return call(op, {x.value}, {{"axis", axis}}, x.location);
}

}  // namespace weft
