#include "weft/ops/support/moments.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {

Value count_per_channel(const Value& x, DType dtype) {
  const Shape& shape = x.shape();
  return element_count(Shape(shape.first(shape.rank() - 1)), dtype);
}

// The variance also depends on x by way of the mean, but that part is
// Σ (x - mean) times a factor, and so 0.
Value gradient_of_moments(const Value& x, const Value& mean, const Value& dmean,
                          const Value& dvariance) {
  const Value count = count_per_channel(x, mean.dtype());
  Value dx;
  if (dvariance.is_defined()) {
    // The factor of each channel is computed first: one product remains for
    // each element.
    dx = (to_dtype(x, mean.dtype()) - mean) * (dvariance * 2.0 / count);
  }
  if (dmean.is_defined()) {
    const Value offset = dmean / count;
    dx = dx.is_defined() ? dx + offset : broadcast_to(offset, x.shape());
  }
  return to_dtype(dx, x.dtype());
}

}  // namespace weft
