#include "weft/optim/single_step.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/hyperbolic.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// sinh(s) by the tangent of half of it: exp(s) - exp(-s) would lose the digits
// of a small s.
Value sinh_of(const Value& s) {
  const Value half = tanh(s * 0.5);
  return 2.0 * half / (1.0 - square(half));
}

}  // namespace

// With y = x - 1 this is y^3 + p y + p = 0, of one real root, which is
//
//   y = -2 sqrt(p/3) sinh(asinh(3/2 sqrt(3/p)) / 3)
//
// As x = -y^3 / p then, neither is a difference of numbers that are nearly
// equal, for any p: Vieta's w - p / (3 w) is one for large p, and 1 + y too.
Value single_step_root(const Value& p) {
  const Value width = sqrt(p / 3.0);
  const Value s = sinh_of(asinh(1.5 / width) / 3.0);
  return 8.0 / 3.0 * width * s * s * s;
}

MomentumTuning single_step(const NoisyQuadratic& measured) {
  const Value least = measured.least_curvature + kTuningSmall;
  const Value distance = measured.distance + kTuningSmall;
  const Value p = square(distance) * square(least) /
                  (2.0 * (measured.variance + kTuningSmall));
  const Value ratio = (measured.most_curvature + kTuningSmall) / least;
  // A ratio of 1 would leave no region.
  const Value k = sqrt(maximum(ratio, scalar_like(ratio, 1 + kTuningSmall)));
  const Value root = maximum(single_step_root(p), (k - 1.0) / (k + 1.0));
  return {square(root), square(1.0 - root) / least};
}

}  // namespace weft
