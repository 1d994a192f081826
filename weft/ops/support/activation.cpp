#include "weft/ops/support/activation.h"

#include <algorithm>

#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/support/elementwise.h"
#include "weft/ops/unary.h"

namespace weft {

void check_tail(const OpCall& call, Dim channels) {
  const std::string& activation = call.attributes.text("activation");
  if (activation != "none" && activation != "relu") {
    throw call.error("there is no activation '{}'", activation)
        .hint("activation is \"none\" or \"relu\"");
  }
  if (!call.has_input(2)) return;
  const TensorType& bias = call.input(2);
  if (bias.shape != Shape{channels}) {
    throw call.error("the bias must be a vector of {} elements",
                     to_string(channels));
  }
  // Mixed precision keeps biases in f32, as it keeps weights.
  const DType own = call.input(0).dtype;
  const bool is_half = own == DType::kBF16 || own == DType::kF16;
  if (bias.dtype != own && !(is_half && bias.dtype == DType::kF32)) {
    throw call.error("the bias must be {}{}", to_string(own),
                     is_half ? " or f32" : "");
  }
}

void apply_tail(const OpCall& call, const std::vector<double>& bias,
                std::vector<double>& y) {
  const bool is_relu = call.attributes.text("activation") == "relu";
  for (std::size_t i = 0; i < y.size(); ++i) {
    // The channels are the last axis, so that the bias repeats along y.
    if (!bias.empty()) y[i] += bias[i % bias.size()];
    // std::max returns its first argument where nothing is less, so NaN stays.
    if (is_relu) y[i] = std::max(y[i], 0.0);
  }
}

bool has_tail(const OpCall& call) {
  return call.has_input(2) || call.attributes.text("activation") != "none";
}

Value tail_gradient(const GradientContext& g) {
  if (g.attributes().text("activation") != "relu") return g.dy();
  // The result tells where relu let something through; what went into it is not
  // kept.
  const Value zero = scalar_like(g.dy(), 0);
  // At 0, relu has the gradient 0, as in unary.cpp.
  return where(greater(g.y(), zero), g.dy(), zero);
}

void add_bias_gradient(const GradientContext& g, const Value& dy,
                       Gradients& gradients) {
  if (g.input_count() < 3) return;
  const DType dtype = g.x(2).dtype();
  // Sums in the bias's precision: f32 also for bf16 images.
  gradients.push_back(
      sum_to(dtype == dy.dtype() ? dy : cast(dy, dtype), g.x(2).shape()));
}

}  // namespace weft
