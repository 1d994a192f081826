// Activations, most of which are written with other ops, which a plan fuses.
#include <cmath>

#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/exponential.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

template <class Function>
void set_activation(OnnxNode& node, Function&& function) {
  // Operands beside the first are bounds.
  node.set(
      elementwise(std::span(&node.operand(0), 1),
                  [&](std::span<const Value> x) { return function(x[0]); }));
}

Value choose(const Value& condition, const Value& a, const Value& b) {
  return where(condition, a, b);
}

Value is_positive(const Value& x) { return greater(x, scalar_like(x, 0)); }

// It is the larger of 0 and x, and what exp adds to it, which cannot overflow.
Value softplus(const Operand& x) {
  return relu(x) + log1p(exp(negate(abs(x))));
}

Value softsign(const Operand& x) { return x / (abs(x) + 1); }

Value mish(const Operand& x) { return x * tanh(softplus(x)); }

Value hard_sigmoid(const Value& x, double alpha, double beta) {
  return clamp(x * alpha + beta, 0, 1);
}

Value elu(const Value& x, double alpha) {
  return choose(is_positive(x), x, expm1(x) * alpha);
}

void import_leaky_relu(OnnxNode& node) {
  const double alpha = node.real("alpha", 0.01);
  set_activation(node, [&](const Value& x) {
    return choose(less(x, scalar_like(x, 0)), x * alpha, x);
  });
}

void import_prelu(OnnxNode& node) {
  node.set(elementwise(node, 2, [](std::span<const Value> x) {
    return choose(less(x[0], scalar_like(x[0], 0)), x[0] * x[1], x[0]);
  }));
}

void import_elu(OnnxNode& node) {
  const double alpha = node.real("alpha", 1);
  set_activation(node, [&](const Value& x) { return elu(x, alpha); });
}

// Their numbers are those of Klambauer et al., "Self-Normalizing Neural
// Networks", 2017.
void import_selu(OnnxNode& node) {
  const double alpha = node.real("alpha", 1.67326319217681884765625);
  const double gamma = node.real("gamma", 1.05070102214813232421875);
  set_activation(node, [&](const Value& x) { return elu(x, alpha) * gamma; });
}

void import_celu(OnnxNode& node) {
  const double alpha = node.real("alpha", 1);
  set_activation(node, [&](const Value& x) {
    return choose(is_positive(x), x, expm1(x / alpha) * alpha);
  });
}

void import_hard_sigmoid(OnnxNode& node) {
  const double alpha = node.real("alpha", 0.2);
  const double beta = node.real("beta", 0.5);
  set_activation(node,
                 [&](const Value& x) { return hard_sigmoid(x, alpha, beta); });
}

void import_hard_swish(OnnxNode& node) {
  set_activation(
      node, [](const Value& x) { return x * hard_sigmoid(x, 1.0 / 6, 0.5); });
}

void import_swish(OnnxNode& node) {
  const double alpha = node.real("alpha", 1);
  set_activation(node, [&](const Value& x) { return x * sigmoid(x * alpha); });
}

void import_gelu(OnnxNode& node) {
  const std::string form = node.text("approximate", "none");
  if (form == "none")
    return set_activation(node, [](const Value& x) { return gelu(x); });
  if (form != "tanh") throw node.unsupported("has no form '{}'", form);
  // This is the approximation of Hendrycks and Gimpel, 2016.
  set_activation(node, [](const Value& x) {
    const Value inner = (x + x * x * x * 0.044715) * std::sqrt(2 / M_PI);
    return x * 0.5 * (tanh(inner) + 1);
  });
}

void import_thresholded_relu(OnnxNode& node) {
  const double alpha = node.real("alpha", 1);
  set_activation(node, [&](const Value& x) {
    return choose(greater(x, scalar_like(x, alpha)), x, scalar_like(x, 0));
  });
}

void import_shrink(OnnxNode& node) {
  const double bias = node.real("bias", 0);
  const double lambd = node.real("lambd", 0.5);
  set_activation(node, [&](const Value& x) {
    const Value zero = scalar_like(x, 0);
    return choose(less(x, scalar_like(x, -lambd)), x + bias,
                  choose(greater(x, scalar_like(x, lambd)), x - bias, zero));
  });
}

// The bounds are attributes before opset 11, and operands since, of which one
// that is left out is no bound.
void import_clip(OnnxNode& node) {
  const bool is_old = node.opset() < 11;
  const auto attribute = [&](const char* name) -> Value {
    if (!is_old || !node.has_attribute(name)) return {};
    return scalar_like(node.input(0), node.real(name));
  };
  const Value low = is_old ? attribute("min") : node.input_or(1, {});
  const Value high = is_old ? attribute("max") : node.input_or(2, {});
  const auto number = [](const Value& bound, double none) {
    return bound.is_defined() ? bound.tensor().item() : none;
  };
  const bool are_known = !low.is_staged() && !high.is_staged();
  const bool are_finite = low.is_defined() && high.is_defined();
  set_activation(node, [&](const Value& x) {
    // One op for both bounds, as ReLU6 has them.
    if (are_known && are_finite && is_floating(x.dtype()) &&
        number(low, 0) <= number(high, 0)) {
      return clamp(x, number(low, 0), number(high, 0));
    }
    Value y = x;
    if (low.is_defined()) y = maximum(y, low);
    return high.is_defined() ? minimum(y, high) : y;
  });
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_activations(OnnxRegistry& ops) {
  using namespace onnx;
  const std::pair<const char*, ImportFunction> activations[] = {
      {"Celu", import_celu},
      {"Clip", import_clip},
      {"Elu", import_elu},
      {"Gelu", import_gelu},
      {"HardSigmoid", import_hard_sigmoid},
      {"HardSwish", import_hard_swish},
      {"LeakyRelu", import_leaky_relu},
      {"Mish", import_unary<mish>},
      {"PRelu", import_prelu},
      {"Relu", import_unary<relu>},
      {"Selu", import_selu},
      {"Shrink", import_shrink},
      {"Sigmoid", import_unary<sigmoid>},
      {"Softplus", import_unary<softplus>},
      {"Softsign", import_unary<softsign>},
      {"Swish", import_swish},
      {"Tanh", import_unary<tanh>},
      {"ThresholdedRelu", import_thresholded_relu},
  };
  for (const auto& [name, import] : activations) {
    ops.add({.name = name, .import = import});
  }
}

}  // namespace weft
