#include "weft/ops/reduce.h"

#include <array>
#include <limits>
#include <optional>

#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/running.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

AxisSet axes_of(const Attributes& attributes, const Shape& shape) {
  return AxisSet(attributes.integers("axes"), shape.rank());
}

// Folds every element into the accumulator of its output, in row-major order.
// Integers accumulate in int64, everything else in double.
template <class Fold, class Finish>
void fold(const OpCall& call, const TensorView& x, const TensorView& y,
          double start, Fold&& step, Finish&& finish) {
  // With the reduced axes at size 1, the operand's elements find their
  // accumulators by broadcasting.
  const Shape kept =
      reduced_shape(x.shape(), axes_of(call.attributes, x.shape()), true);
  const BroadcastIndex to_output(kept, x.shape());
  // The accumulators of all outputs are held at once, so one pass in memory
  // order serves any set of axes.
  const auto run = [&]<class Number>(Number first) {
    std::vector<Number> sums(static_cast<std::size_t>(y.size()), first);
    for (std::int64_t i = 0; i < x.size(); ++i) {
      Number& sum = sums[static_cast<std::size_t>(to_output(i))];
      sum = step(sum, load_as<Number>(x, i));
    }
    for (std::int64_t i = 0; i < y.size(); ++i) {
      store_as(y, i, finish(sums[static_cast<std::size_t>(i)]));
    }
  };
  // The neutral element of max and min is an infinity, which integers do not
  // have: theirs are the ends of int64.
  if (is_floating(x.dtype())) {
    run(start);
  } else if (start == -std::numeric_limits<double>::infinity()) {
    run(std::numeric_limits<std::int64_t>::min());
  } else if (start == std::numeric_limits<double>::infinity()) {
    run(std::numeric_limits<std::int64_t>::max());
  } else {
    run(static_cast<std::int64_t>(start));
  }
}

constexpr auto kAsIs = [](auto total) { return total; };

void sum_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fold(call, inputs[0], outputs[0], 0, kAdd, kAsIs);
}

void mean_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const double count = static_cast<double>(inputs[0].size()) /
                       static_cast<double>(outputs[0].size());
  fold(call, inputs[0], outputs[0], 0, kAdd,
       [&](auto total) { return static_cast<double>(total) / count; });
}

void product_reference(const OpCall& call, std::span<const TensorView> inputs,
                       std::span<const TensorView> outputs) {
  fold(call, inputs[0], outputs[0], 1, kMultiply, kAsIs);
}

// NaN wins, as in NumPy. Once the accumulator is NaN, no comparison with it is
// true, and it stays.
void max_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fold(
      call, inputs[0], outputs[0], -std::numeric_limits<double>::infinity(),
      [](auto a, auto b) { return b > a || b != b ? b : a; }, kAsIs);
}

void min_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fold(
      call, inputs[0], outputs[0], std::numeric_limits<double>::infinity(),
      [](auto a, auto b) { return b < a || b != b ? b : a; }, kAsIs);
}

void any_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fold(
      call, inputs[0], outputs[0], 0,
      [](auto a, auto b) { return b != 0 ? b : a; }, kAsIs);
}

void all_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  fold(
      call, inputs[0], outputs[0], 1,
      [](auto a, auto b) { return b == 0 ? b : a; }, kAsIs);
}

void element_count_reference(const OpCall& call, std::span<const TensorView>,
                             std::span<const TensorView> outputs) {
  store_as(outputs[0], 0, call.attributes.get<Shape>("shape").num_elements());
}

std::vector<TensorType> infer_element_count(const OpCall& call) {
  const DType dtype = call.attributes.get<DType>("dtype");
  const auto& shape = call.attributes.get<Shape>("shape");
  // The product of greater dims would overflow.
  if (!is_addressable({dtype, shape})) {
    throw call.error("no tensor has the 'shape' {}", to_string(shape));
  }
  return {{dtype, {}}};
}

TensorType reduced_type(const OpCall& call) {
  const TensorType& x = call.input(0);
  const AxisSet axes =
      checked_axes(call, call.attributes.integers("axes"), x.shape.rank());
  return {x.dtype,
          reduced_shape(x.shape, axes, call.attributes.flag("keep_dims"))};
}

std::vector<TensorType> infer_reduction(const OpCall& call) {
  require_number(call);
  return {reduced_type(call)};
}

std::vector<TensorType> infer_mean(const OpCall& call) {
  require_floating(call);
  return infer_reduction(call);
}

std::vector<TensorType> infer_truth(const OpCall& call) {
  require_bool(call, 1);
  return {reduced_type(call)};
}

std::vector<TensorType> infer_extremum(const OpCall& call) {
  auto result = infer_reduction(call);
  const Shape& shape = call.input(0).shape;
  const AxisSet axes = axes_of(call.attributes, shape);
  // Axes that stay may be empty: then there is no result to choose.
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axes.has(axis)) require_elements(call, shape[axis], axis);
  }
  return result;
}

// The axes of an instance's operand, in a stack of them; all if it names none.
Integers stacked_axes(const BatchContext& g) {
  Integers axes = g.attributes().integers("axes");
  for (std::int64_t& axis : axes) axis = stacked_axis(axis);
  // An empty list would now mean the batch axis too, so all others are named.
  if (axes.empty()) {
    const int rank = g.call().input(0).shape.rank();
    for (int axis = 1; axis <= rank; ++axis) axes.push_back(axis);
  }
  return axes;
}

std::vector<Value> batch_reduction(const BatchContext& g) {
  const Integers axes = stacked_axes(g);
  if (axes.empty()) return {g.x(0)};  // a scalar has no axes
  Attributes attributes = g.attributes();
  attributes.set("axes", axes);
  return call_all(g.op(), std::array{g.x(0)}, attributes, {});
}

// The instances are summed in the same pass. The result loses the axes that
// keep_dims would have kept, and the reshape brings them back.
std::vector<Value> sum_of_sums(const BatchContext& g) {
  Integers axes = stacked_axes(g);
  axes.push_back(0);
  return {reshape(sum(g.x(0), axes), g.call().outputs[0].shape)};
}

// A value of the result's shape, with the reduced axes back at size 1 so that
// it broadcasts against the operand.
Value with_axes(const GradientContext& g, const Value& value) {
  const Shape& shape = g.x(0).shape();
  const Shape kept = reduced_shape(shape, axes_of(g.attributes(), shape), true);
  return value.shape() == kept ? value : reshape(value, kept);
}

// Each element counts once in its sum, so it takes the sum's gradient.
Gradients sum_gradient(const GradientContext& g) {
  return {broadcast_to(with_axes(g, g.dy()), g.x(0).shape())};
}

// The number of elements behind each result. It is a value, since dims may be
// symbolic.
Value count_of(const GradientContext& g) {
  const Shape& shape = g.x(0).shape();
  const AxisSet axes = axes_of(g.attributes(), shape);
  Shape reduced;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (axes.has(axis)) reduced.push_back(shape[axis]);
  }
  return element_count(reduced, g.dy().dtype());
}

Gradients mean_gradient(const GradientContext& g) {
  // dy is divided before it is broadcast: one quotient for each result, not for
  // each element.
  return {broadcast_to(with_axes(g, g.dy() / count_of(g)), g.x(0).shape())};
}

// Ties share the gradient equally. With m winners, dx = dy / m at each. Where
// NaN won, nothing equals it, and no element gets a gradient.
Gradients extremum_gradient(const GradientContext& g) {
  const Value& x = g.x(0);
  const Value is_winner = equal(x, with_axes(g, g.y()));
  const Value winners =
      sum(cast(is_winner, x.dtype()), g.attributes().integers("axes"), true);
  return {where(is_winner, with_axes(g, g.dy()) / winners, scalar_like(x, 0))};
}

// dy times the product of the other elements, axis by axis: what stands before
// an element along an axis, times what stands behind it. No quotient is taken,
// so that zeros are nothing special, to whichever order it is differentiated.
Gradients product_gradient(const GradientContext& g) {
  const Shape& shape = g.x(0).shape();
  const AxisSet axes = axes_of(g.attributes(), shape);
  Value dx = with_axes(g, g.dy());
  Value rest = g.x(0);
  std::optional<int> met;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!axes.has(axis)) continue;
    if (met) rest = product(rest, {*met}, true);
    dx = dx * cumprod(rest, axis, true) * cumprod(rest, axis, true, true);
    met = axis;
  }
  return {dx};
}

std::vector<OpSample> reduction_samples() {
  const auto over = [](const Shape& shape, Integers axes, bool keep_dims,
                       DType dtype = DType::kF32) {
    return OpSample{{floats(shape, -1, 1, dtype)},
                    {{"axes", std::move(axes)}, {"keep_dims", keep_dims}}};
  };
  std::vector<OpSample> samples = {
      over({3, 5}, {}, false),
      over({3, 5}, {1}, false),
      over({3, 5}, {-2}, true),
      over({2, 3, 4}, {0, 2}, false),
      over({2, 3, 4}, {1}, true),
      over({2, 3, 4, 5}, {1, -1}, false),
      over({2, 3, 4, 5}, {0, 2}, true),
      over({}, {}, false),
      over({1}, {0}, false),
      over({0, 3}, {1}, false),
      over({1, 1, 7}, {0, 2}, false),
      over({4, 700}, {1}, false),
      over({700, 4}, {0}, false),
      over({301, 67}, {0}, true),
      over({6, 11, 37}, {0, 1}, false),
      over({2, 2}, {1}, true, DType::kF64),
      over({5, 67}, {1}, false, DType::kBF16),
      over({67, 5}, {0}, false, DType::kBF16),
      over({9}, {}, false, DType::kF16),
  };
  return samples;
}

std::vector<OpSample> with_integer_axes(std::vector<OpSample> samples) {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    for (const Integers& axes : {Integers{0}, Integers{1}, Integers{}}) {
      samples.push_back({{integers({5, 7}, -3, 3, dtype)}, {{"axes", axes}}});
    }
  }
  return samples;
}

// Values near 1, so that neither the product nor its gradient vanishes.
std::vector<OpSample> product_samples() {
  auto samples = with_integer_axes(reduction_samples());
  for (auto& sample : samples) {
    if (!is_floating(sample.inputs[0].type.dtype)) continue;
    sample.inputs[0].low = 0.9;
    sample.inputs[0].high = 1.1;
  }
  return samples;
}

// In a few elements either result is likely; the long samples go through all
// ways of a kernel.
std::vector<OpSample> truth_samples() {
  const auto over = [](const Shape& shape, Integers axes, bool keep_dims) {
    return OpSample{{bools(shape)},
                    {{"axes", std::move(axes)}, {"keep_dims", keep_dims}}};
  };
  return {over({3, 5}, {}, false),       over({40, 2}, {1}, false),
          over({2, 40}, {-2}, true),     over({2, 3, 4}, {0, 2}, false),
          over({}, {}, false),           over({1}, {0}, false),
          over({0, 3}, {0}, false),      over({0, 3}, {1}, false),
          over({700, 3, 2}, {2}, false), over({2, 700}, {0}, true),
          over({3, 9000}, {1}, false),   over({5, 1, 600}, {0, 1}, false)};
}

Cost reduction_cost(const OpCall& call) {
  return Cost::of(call,
                  static_cast<double>(call.input(0).shape.num_elements()));
}

OpDef& reduction(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(x) -> y")
      .attribute("axes", Integers{})
      .attribute("keep_dims", false)
      .batch(batch_reduction)
      .cost(reduction_cost);
}

Value call_reduction(const OpDef& op, const Operand& x, Integers&& axes,
                     bool keep_dims) {
  return call(op, {x.value},
              {{"axes", std::move(axes)}, {"keep_dims", keep_dims}},
              x.location);
}

// Truths are reduced as integers: any by their sum, all by the least of them.
template <OnnxName kName>
void onnx_truths(OnnxContext& c) {
  Integers axes = c.attributes().integers("axes");
  const int rank = c.type(0).shape.rank();
  for (int axis = 0; axis < rank && c.attributes().integers("axes").empty();
       ++axis) {
    axes.push_back(axis);
  }
  const std::string numbers = c.emit("Cast", {c.x(0)}, {{"to", DType::kI32}});
  const std::string found =
      rank == 0
          ? numbers
          : c.emit(
                kName.text, {numbers, c.list(axes)},
                {{"keepdims", std::int64_t{c.attributes().flag("keep_dims")}}});
  c.set(c.emit("Cast", {found}, {{"to", DType::kBool}}));
}

void export_element_count(OnnxContext& c) {
  const std::string count =
      c.emit("ReduceProd", {c.shape(c.attributes().get<Shape>("shape"))},
             {{"keepdims", std::int64_t{0}}});
  c.set(c.emit("Cast", {count}, {{"to", c.attributes().get<DType>("dtype")}}));
}

}  // namespace

void register_reduce(OpRegistry& ops) {
  reduction(ops, "sum")
      .summary("sum over some axes, or all")
      .infer(infer_reduction)
      .reference(sum_reference)
      .gradient(sum_gradient)
      .batch(batch_reduction, sum_of_sums)
      .onnx(onnx_reduction<"ReduceSum">)
      .samples([] { return with_integer_axes(reduction_samples()); });
  reduction(ops, "mean")
      .summary("mean over some axes, or all")
      .infer(infer_mean)
      .reference(mean_reference)
      .gradient(mean_gradient)
      .batch(batch_reduction, sum_of_linear)
      .onnx(onnx_reduction<"ReduceMean">)
      .samples(reduction_samples);
  reduction(ops, "max")
      .summary("maximum over some axes, or all; ties share the gradient")
      .infer(infer_extremum)
      .reference(max_reference)
      .gradient(extremum_gradient)
      .onnx(onnx_reduction<"ReduceMax">)
      .samples([] { return with_integer_axes(reduction_samples()); });
  reduction(ops, "min")
      .summary("minimum over some axes, or all; ties share the gradient")
      .infer(infer_extremum)
      .reference(min_reference)
      .gradient(extremum_gradient)
      .onnx(onnx_reduction<"ReduceMin">)
      .samples([] { return with_integer_axes(reduction_samples()); });
  reduction(ops, "prod")
      .summary("product over some axes, or all")
      .infer(infer_reduction)
      .reference(product_reference)
      .gradient(product_gradient)
      .onnx(onnx_reduction<"ReduceProd">)
      .samples(product_samples);
  reduction(ops, "any")
      .summary("whether any element over some axes, or all, is true")
      .traits(kNoGradient)
      .infer(infer_truth)
      .reference(any_reference)
      .onnx(onnx_truths<"ReduceSum">)
      .samples(truth_samples);
  reduction(ops, "all")
      .summary("whether all elements over some axes, or all, are true")
      .traits(kNoGradient)
      .infer(infer_truth)
      .reference(all_reference)
      .onnx(onnx_truths<"ReduceMin">)
      .samples(truth_samples);
  ops.add("element_count")
      .summary("the number of elements of a shape, once its dims are known")
      .signature("() -> y")
      .required("shape", Shape())
      .attribute("dtype", DType::kF32)
      .traits(kNoGradient)
      .infer(infer_element_count)
      .reference(element_count_reference)
      .onnx(export_element_count)
      .cost([](const OpCall& call) { return Cost::of(call, 0); })
      .samples([] {
        return std::vector<OpSample>{
            {{}, {{"shape", Shape{3, 4}}}},
            {{}, {{"shape", Shape{}}, {"dtype", DType::kI64}}}};
      });
}

Value sum(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("sum");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value mean(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("mean");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value reduce_max(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("max");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value reduce_min(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("min");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value product(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("prod");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value any(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("any");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value all(const Operand& x, Integers axes, bool keep_dims) {
  static const OpDef& op = op_registry().get("all");
  return call_reduction(op, x, std::move(axes), keep_dims);
}

Value element_count(const Shape& shape, DType dtype) {
  if (shape.is_static()) {
    return Tensor::scalar(static_cast<double>(shape.num_elements()), dtype);
  }
  static const OpDef& op = op_registry().get("element_count");
  return call(op, {}, {{"shape", shape}, {"dtype", dtype}}, Location());
}

}  // namespace weft
