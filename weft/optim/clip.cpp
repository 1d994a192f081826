#include "weft/optim/clip.h"

#include <limits>

#include "weft/base/error.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {

Value global_norm(std::span<const Value> gradients) {
  WEFT_CHECK(!gradients.empty());
  Value total;
  for (const Value& gradient : gradients) {
    const Value square_sum = sum(square(gradient));
    total = total.is_defined() ? total + square_sum : square_sum;
  }
  return sqrt(total);
}

std::vector<Value> clip_by_global_norm(std::span<const Value> gradients,
                                       double max_norm) {
  if (gradients.empty()) return {};
  const Value norm = global_norm(gradients);
  // The small number keeps gradients of zero from dividing by zero.
  const Value wanted = max_norm / (norm + 1e-6);
  // A norm beyond f32 would make 0 of all gradients, without a word.
  const Value scale =
      where(is_finite(norm), minimum(wanted, scalar_like(wanted, 1)),
            scalar_like(wanted, std::numeric_limits<double>::quiet_NaN()));
  std::vector<Value> result;
  for (const Value& gradient : gradients) result.push_back(gradient * scale);
  return result;
}

}  // namespace weft
