// SingleStep, by which YellowFin chooses momentum and rate (Zhang and
// Mitliagkas, "YellowFin and the Art of Momentum Tuning", MLSys 2019): the
// objective is taken for a quadratic whose gradients are noisy, and one step
// from a distance D with gradients of variance C is expected to leave a squared
// distance of
//
//   momentum D^2 + rate^2 C
//
// which is made the least, under the condition that momentum converges as
// sqrt(momentum) along all curvatures h from h_min to h_max (its robust
// region):
//
//   (1 - sqrt(momentum))^2 <= rate h <= (1 + sqrt(momentum))^2
//
// Threads: pure functions.
#pragma once

#include "weft/graph/value.h"

namespace weft {

// What is measured of an objective: f64[] each, and none is negative.
struct NoisyQuadratic {
  Value least_curvature;  // h_min
  Value most_curvature;   // h_max
  Value variance;         // C, of a gradient: that of all its elements together
  Value distance;         // D, to the optimum
};

struct MomentumTuning {
  Value momentum;  // f64[], in [0, 1)
  Value rate;      // f64[], above 0
};

// Is added to what is divided by, so that an objective without gradients is
// tuned for, too.
inline constexpr double kTuningSmall = 1e-6;

MomentumTuning single_step(const NoisyQuadratic& measured);

// The root of momentum where the condition does not bind: the only x in (0, 1)
// with p x = (1 - x)^3, for p = D^2 h_min^2 / (2 C) above 0.
Value single_step_root(const Value& p);

}  // namespace weft
