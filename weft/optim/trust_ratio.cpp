#include "weft/optim/trust_ratio.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/reduce.h"
#include "weft/ops/unary.h"

namespace weft {

Value norm(const Value& x) { return sqrt(sum(square(x))); }

Value trust_ratio(const Value& parameter, const Value& denominator) {
  const Value size = norm(parameter);
  const Value zero = scalar_like(size, 0);
  const Value one = scalar_like(size, 1);
  // The quotient is taken with a divisor that is never 0: where() computes both
  // of its sides.
  const Value is_zero = logical_or(equal(size, zero), equal(denominator, zero));
  return where(is_zero, one, size / where(is_zero, one, denominator));
}

}  // namespace weft
