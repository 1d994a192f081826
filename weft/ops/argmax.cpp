// Where along an axis the extreme elements are.
#include <functional>

#include "weft/graph/registry.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"

namespace weft {
namespace {

// The first NaN wins, as in NumPy.
template <class Beats>
void place_reference(const OpCall& call, std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs) {
  const TensorView& x = inputs[0];
  const AxisCut cut(x.shape(), resolved_axis(call.attributes.integer("axis"),
                                             x.shape().rank()));
  // i64 is compared as such: neighbours beyond 2^53 are one double.
  const auto run = [&]<class Number>(Number) {
    for (std::int64_t i = 0; i < cut.outer * cut.inner; ++i) {
      const std::int64_t start =
          i / cut.inner * cut.size * cut.inner + i % cut.inner;
      auto best = load_as<Number>(x, start);
      std::int64_t winner = 0;
      for (std::int64_t n = 1; n < cut.size; ++n) {
        const auto value = load_as<Number>(x, start + n * cut.inner);
        // NaN beats nothing by < or >, and nothing beats it.
        const bool is_first_nan = value != value && best == best;
        if (Beats{}(value, best) || is_first_nan) {
          best = value;
          winner = n;
        }
      }
      outputs[0].as<std::int64_t>()[i] = winner;
    }
  };
  if (is_floating(x.dtype()))
    run(double{});
  else
    run(std::int64_t{});
}

std::vector<TensorType> infer_place(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const int axis =
      checked_axis(call, call.attributes.integer("axis"), shape.rank());
  // Among no elements none is the largest; NumPy refuses it as well.
  require_elements(call, shape[axis], axis);
  const AxisSet axes({axis}, shape.rank());
  return {{DType::kI64,
           reduced_shape(shape, axes, call.attributes.flag("keep_dims"))}};
}

// Rows and columns have fewer elements than a vector, or many more. The small
// integers have ties, of which the first place must win.
std::vector<OpSample> place_samples() {
  const auto along = [](InputSample x, std::int64_t axis, bool keep_dims) {
    return OpSample{{std::move(x)}, {{"axis", axis}, {"keep_dims", keep_dims}}};
  };
  return {along(floats({3, 5}), 1, false),
          along(floats({3, 5}), 0, true),
          along(floats({2, 3, 4}), -2, false),
          along(floats({7}), 0, false),
          along(floats({0, 3}), 1, false),
          along(floats({33, 10}), -1, false),
          along(floats({3, 1000}), -1, false),
          along(floats({40, 70}), 0, false),
          along(floats({9, 9}, -1, 1, DType::kBF16), 1, false),
          along(floats({9, 9}, -1, 1, DType::kF64), 1, false),
          along(integers({50, 20}, -3, 3), 1, false),
          along(integers({50, 20}, -3, 3, DType::kI64), 0, false)};
}

OpDef& add_place(OpRegistry& ops, const char* name) {
  return ops.add(name)
      .signature("(x) -> y")
      .required("axis", std::int64_t{0})
      .attribute("keep_dims", false)
      .traits(kNoGradient)
      .infer(infer_place)
      .batch(batch_along_axis)
      .cost([](const OpCall& call) {
        return Cost::of(
            call, static_cast<double>(call.input(0).shape.num_elements()));
      })
      .samples(place_samples);
}

template <OnnxName kName>
void onnx_place(OnnxContext& c) {
  c.set(c.emit(kName.text, {c.x(0)},
               {{"axis", c.attributes().integer("axis")},
                {"keepdims", std::int64_t{c.attributes().flag("keep_dims")}}}));
}

}  // namespace

void register_argmax(OpRegistry& ops) {
  add_place(ops, "argmax")
      .summary(
          "index of the first maximum along an axis, as i64; the first NaN "
          "wins")
      .reference(place_reference<std::greater<>>)
      .onnx(onnx_place<"ArgMax">);
  add_place(ops, "argmin")
      .summary(
          "index of the first minimum along an axis, as i64; the first NaN "
          "wins")
      .reference(place_reference<std::less<>>)
      .onnx(onnx_place<"ArgMin">);
}

Value argmax(const Operand& x, std::int64_t axis, bool keep_dims) {
  static const OpDef& op = op_registry().get("argmax");
  return call(op, {x.value}, {{"axis", axis}, {"keep_dims", keep_dims}},
              x.location);
}

Value argmin(const Operand& x, std::int64_t axis, bool keep_dims) {
  static const OpDef& op = op_registry().get("argmin");
  return call(op, {x.value}, {{"axis", axis}, {"keep_dims", keep_dims}},
              x.location);
}

}  // namespace weft
