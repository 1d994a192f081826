// Steps of optimizers, which models for training have.
#include <cmath>

#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

// Rate and step come first, then parameters, gradients, and what is kept of
// each, all of one kind behind another.
struct Step {
  Value rate;
  Value count;  // in the dtype of the rate
  std::size_t parameters = 0;

  Step(const OnnxNode& node, std::size_t kinds)
      : rate(reshape(node.input(0), {})),
        count(to_dtype(reshape(node.input(1), {}), rate.dtype())) {
    if ((node.operand_count() - 2) % kinds != 0) {
      throw node.damaged("{} operands", node.operand_count());
    }
    parameters = (node.operand_count() - 2) / kinds;
  }
};

Value regularized(const OnnxNode& node, const Value& x, const Value& g) {
  return g + x * node.real("norm_coefficient", 0);
}

void import_momentum(OnnxNode& node) {
  const Step step(node, 3);
  const std::size_t n = step.parameters;
  const double alpha = node.real("alpha");
  // The first gradient counts in full.
  const Value beta = where(greater(step.count, scalar_like(step.count, 0)),
                           scalar_like(step.rate, node.real("beta")),
                           scalar_like(step.rate, 1));
  const bool is_nesterov = node.text("mode") == "nesterov";
  for (std::size_t i = 0; i < n; ++i) {
    const Value x = node.input(2 + i);
    const Value g = regularized(node, x, node.input(2 + n + i));
    const Value v = node.input(2 + 2 * n + i) * alpha + beta * g;
    node.set(i, x - step.rate * (is_nesterov ? g + v * alpha : v));
    node.set(n + i, v);
  }
}

void import_adagrad(OnnxNode& node) {
  const Step step(node, 3);
  const std::size_t n = step.parameters;
  const double epsilon = node.real("epsilon", 1e-6);
  const Value rate =
      step.rate / (step.count * node.real("decay_factor", 0) + 1);
  for (std::size_t i = 0; i < n; ++i) {
    const Value x = node.input(2 + i);
    const Value g = regularized(node, x, node.input(2 + n + i));
    const Value h = node.input(2 + 2 * n + i) + square(g);
    node.set(i, x - rate * g / (sqrt(h) + epsilon));
    node.set(n + i, h);
  }
}

void import_adam(OnnxNode& node) {
  const Step step(node, 4);
  const std::size_t n = step.parameters;
  const double alpha = node.real("alpha", 0.9);
  const double beta = node.real("beta", 0.999);
  const double epsilon = node.real("epsilon", 1e-6);
  const double kept = 1 - node.real("norm_coefficient_post", 0);
  const auto unbiased = [&](double factor) {
    return 1 - power(scalar_like(step.count, factor), step.count);
  };
  const Value corrected = step.rate * sqrt(unbiased(beta)) / unbiased(alpha);
  const Value rate = where(greater(step.count, scalar_like(step.count, 0)),
                           corrected, step.rate);
  for (std::size_t i = 0; i < n; ++i) {
    const Value x = node.input(2 + i);
    const Value g = regularized(node, x, node.input(2 + n + i));
    const Value v = node.input(2 + 2 * n + i) * alpha + g * (1 - alpha);
    const Value h = node.input(2 + 3 * n + i) * beta + square(g) * (1 - beta);
    node.set(i, (x - rate * (v / (sqrt(h) + epsilon))) * kept);
    node.set(n + i, v);
    node.set(2 * n + i, h);
  }
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_training(OnnxRegistry& ops) {
  using namespace onnx;
  const std::pair<const char*, ImportFunction> optimizers[] = {
      {"Momentum", import_momentum},
      {"Adagrad", import_adagrad},
      {"Adam", import_adam}};
  for (const auto& [name, import] : optimizers) {
    ops.add({.name = name,
             .domain = "ai.onnx.preview.training",
             .since = 1,
             .import = import});
  }
}

}  // namespace weft
