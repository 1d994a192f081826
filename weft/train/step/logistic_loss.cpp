#include "weft/train/step/logistic_loss.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/exponential.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// log(1 + exp(z)). The exponent is never positive; (z + |z|) / 2 is max(z, 0)
// with the slope of the middle at 0, where logits start.
Value softplus(const Value& z) {
  const Value size = abs(z);
  return (z + size) * 0.5 + log1p(exp(-size));
}

}  // namespace

Value logistic_loss(const Value& logits, const Value& targets,
                    double positive_weight) {
  if (positive_weight == 1) return softplus(logits) - logits * targets;
  return targets * positive_weight * softplus(-logits) +
         (1 - targets) * softplus(logits);
}

}  // namespace weft
