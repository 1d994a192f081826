// Batch norm stays one op until a function is planned, and so does its
// gradient: rewrites of a graph see what belongs together. Both then become
// what fused loops run well: one pass for the moments, one for (x - mean) * s +
// shift, and their mirror images backwards.
#include "weft/graph/gradient.h"
#include "weft/graph/registry.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/norm.h"
#include "weft/ops/reduce.h"
#include "weft/ops/support/moments.h"
#include "weft/ops/support/normalization.h"
#include "weft/ops/support/onnx.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

std::vector<TensorType> infer_batch_norm(const OpCall& call) {
  check_image(call);
  check_channels(call, 1, call.inputs.size());
  return {call.input(0), channel_type(call), channel_type(call)};
}

std::vector<TensorType> infer_batch_norm_gradient(const OpCall& call) {
  check_image(call);
  check_channels(call, 1, 4);
  if (!(call.input(4) == call.input(0))) {
    throw call.error("dy must be {}, as x is", to_string(call.input(0)));
  }
  return {call.input(0), channel_type(call), channel_type(call)};
}

// (x - mean) * scale / sqrt(variance + epsilon) + shift.
Value normalise(const Value& x, const Value& mean, const Value& variance,
                const Value& scale, const Value& shift, double epsilon) {
  // This is one number per channel, so that each element takes a subtraction
  // and a multiply-add.
  const Value factor = scale * rsqrt(variance + epsilon);
  return to_dtype((to_dtype(x, mean.dtype()) - mean) * factor + shift,
                  x.dtype());
}

std::vector<Value> lower_batch_norm(const Attributes& attributes,
                                    std::span<const Value> inputs) {
  const auto [mean, variance] = moments(inputs[0]);
  return {normalise(inputs[0], mean, variance, inputs[1], inputs[2],
                    attributes.real("epsilon")),
          mean, variance};
}

std::vector<Value> lower_batch_norm_infer(const Attributes& attributes,
                                          std::span<const Value> inputs) {
  return {normalise(inputs[0], inputs[3], inputs[4], inputs[1], inputs[2],
                    attributes.real("epsilon"))};
}

// With h = (x - mean) / s, s = sqrt(variance + epsilon) and n elements of each
// channel (Ioffe and Szegedy, 2015, section 3):
//   dshift = Σ dy,  dscale = Σ dy h,
//   dx = scale / s (dy - dshift / n - h dscale / n).
std::vector<Value> lower_batch_norm_gradient(const Attributes& attributes,
                                             std::span<const Value> inputs) {
  const Value& mean = inputs[2];
  const Value centred = to_dtype(inputs[0], mean.dtype()) - mean;
  const Value dy = to_dtype(inputs[4], mean.dtype());
  const Value inverse = rsqrt(inputs[3] + attributes.real("epsilon"));
  const Value dshift = sum_to(dy, mean.shape());
  const Value dscale = sum_to(dy * centred, mean.shape()) * inverse;
  // What each channel shares is computed first: two multiply-adds remain for
  // each element.
  const Value factor = inputs[1] * inverse;
  const Value share = factor / count_per_channel(inputs[0], mean.dtype());
  const Value slope = dscale * inverse * share;
  const Value dx = dy * factor - (centred * slope + dshift * share);
  return {to_dtype(dx, inputs[0].dtype()), dscale, dshift};
}

// The moments are results as well: a gradient that arrives at one goes on to x.
Gradients batch_norm_rule(const GradientContext& g) {
  static const OpDef& op = op_registry().get("batch_norm_gradient");
  Gradients gradients(3);
  if (g.dy(0).is_defined()) {
    gradients =
        call_all(op, std::array{g.x(0), g.x(1), g.y(1), g.y(2), g.dy(0)},
                 g.attributes(), {});
  }
  if (g.dy(1).is_defined() || g.dy(2).is_defined()) {
    const Value dx = gradient_of_moments(g.x(0), g.y(1), g.dy(1), g.dy(2));
    gradients[0] = gradients[0].is_defined() ? gradients[0] + dx : dx;
  }
  return gradients;
}

template <int kFlops>
Cost norm_cost(const OpCall& call) {
  return Cost::of(
      call, kFlops * static_cast<double>(call.input(0).shape.num_elements()));
}

// x, then one operand per channel for each of `bounds`.
std::vector<OpSample> norm_samples(
    const std::vector<std::pair<double, double>>& bounds) {
  std::vector<OpSample> all;
  for (const auto& x : {floats({4, 3}), floats({2, 3, 2, 5}, 1, 3),
                        floats({6, 8}, -1, 1, DType::kBF16),
                        floats({6, 8}, -1, 1, DType::kF16)}) {
    OpSample sample{{x}, {{"epsilon", 1e-3}}};
    for (const auto& [low, high] : bounds) {
      sample.inputs.push_back(floats({x.type.shape.back()}, low, high));
    }
    all.push_back(sample);
  }
  return all;
}

// dy comes last; variances are those of no image, as the op takes any.
std::vector<OpSample> norm_gradient_samples() {
  std::vector<OpSample> all = norm_samples({{0.5, 2}, {-1, 1}, {0.5, 2}});
  for (OpSample& sample : all) {
    const TensorType& x = sample.inputs[0].type;
    sample.inputs.push_back(floats(x.shape, -1, 1, x.dtype));
  }
  return all;
}

void export_batch_norm(OnnxContext& c) {
  const std::string y =
      c.emit("BatchNormalization", {c.image(0), c.x(1), c.x(2), c.x(3), c.x(4)},
             {{"epsilon", c.attributes().real("epsilon")}});
  c.set_image(y);
}

}  // namespace

void register_batch_norm(OpRegistry& ops) {
  ops.add("batch_norm")
      .summary("normalises each channel by the batch's own moments")
      .signature("(x, scale, shift) -> y, mean, variance")
      .attribute("epsilon", 1e-5)
      .infer(infer_batch_norm)
      .lower(lower_batch_norm)
      .gradient(batch_norm_rule)
      .cost(norm_cost<8>)
      .samples([] {
        return norm_samples({{0.5, 2}, {-1, 1}});
      });
  ops.add("batch_norm_gradient")
      .summary(
          "the gradients of batch_norm's operands, through the moments too")
      .signature("(x, scale, mean, variance, dy) -> dx, dscale, dshift")
      .attribute("epsilon", 1e-5)
      .infer(infer_batch_norm_gradient)
      .lower(lower_batch_norm_gradient)
      .gradient(lowered_gradient)
      .cost(norm_cost<13>)
      .samples(norm_gradient_samples);
  ops.add("batch_norm_infer")
      .summary("normalises each channel by given moments")
      .signature("(x, scale, shift, mean, variance) -> y")
      .attribute("epsilon", 1e-5)
      .infer(infer_normalised)
      .lower(lower_batch_norm_infer)
      .gradient(lowered_gradient)
      .onnx(export_batch_norm)
      .cost(norm_cost<8>)
      .samples([] {
        return norm_samples({{0.5, 2}, {-1, 1}, {-1, 1}, {0.5, 2}});
      });
}

std::array<Value, 3> batch_norm(const Operand& x, const Operand& scale,
                                const Operand& shift, double epsilon) {
  static const OpDef& op = op_registry().get("batch_norm");
  const std::array inputs = {*x.value, *scale.value, *shift.value};
  auto result = call_all(op, inputs, {{"epsilon", epsilon}}, x.location);
  return {std::move(result[0]), std::move(result[1]), std::move(result[2])};
}

Value batch_norm_infer(const Operand& x, const Operand& scale,
                       const Operand& shift, const Operand& mean,
                       const Operand& variance, double epsilon) {
  static const OpDef& op = op_registry().get("batch_norm_infer");
  return call(op,
              {x.value, scale.value, shift.value, mean.value, variance.value},
              {{"epsilon", epsilon}}, x.location);
}

}  // namespace weft
