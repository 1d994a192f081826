#include "weft/onnx/named_activation.h"

#include <algorithm>
#include <cctype>

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/exponential.h"
#include "weft/ops/unary.h"

namespace weft::onnx {

ActivationNumbers::ActivationNumbers(const OnnxNode& node)
    : alphas_(node.reals("activation_alpha")),
      betas_(node.reals("activation_beta")) {}

double ActivationNumbers::next(const std::vector<float>& list,
                               std::size_t& place, double otherwise) {
  return place < list.size() ? list[place++] : otherwise;
}

Activation activation_named(const OnnxNode& node, std::string name,
                            ActivationNumbers& numbers) {
  std::ranges::transform(name, name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  if (name == "sigmoid") return [](const Value& x) { return sigmoid(x); };
  if (name == "tanh") return [](const Value& x) { return tanh(x); };
  if (name == "relu") return [](const Value& x) { return relu(x); };
  if (name == "affine") {
    return [a = numbers.alpha(1), b = numbers.beta(0)](const Value& x) {
      return x * a + b;
    };
  }
  if (name == "leakyrelu") {
    return [a = numbers.alpha(0.01)](const Value& x) {
      return where(less(x, scalar_like(x, 0)), x * a, x);
    };
  }
  if (name == "hardsigmoid") {
    return [a = numbers.alpha(0.2), b = numbers.beta(0.5)](const Value& x) {
      return clamp(x * a + b, 0, 1);
    };
  }
  if (name == "scaledtanh") {
    return [a = numbers.alpha(1), b = numbers.beta(1)](const Value& x) {
      return tanh(x * b) * a;
    };
  }
  if (name == "softsign")
    return [](const Value& x) { return x / (abs(x) + 1); };
  if (name == "softplus") {
    return [](const Value& x) { return relu(x) + log1p(exp(negate(abs(x)))); };
  }
  if (name == "elu") {
    return [a = numbers.alpha(1)](const Value& x) {
      return where(greater(x, scalar_like(x, 0)), x, expm1(x) * a);
    };
  }
  throw node.unsupported("has no activation '{}'", name);
}

}  // namespace weft::onnx
