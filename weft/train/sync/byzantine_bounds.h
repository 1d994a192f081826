// What ByzantineSGD is told of a problem, and the thresholds that follow
// (Alistarh, Allen-Zhu and Li, "Byzantine Stochastic Gradient Descent", NeurIPS
// 2018, algorithm 1 and lemma 3.2):
//
//   T_B = 4 V sqrt(T C)    T_A = D T_B    C = log(16 m T / delta)
//
// Threads: a value type.
#pragma once

#include <cmath>
#include <vector>

#include "weft/base/option_schema.h"

namespace weft {

struct ByzantineBounds {
  double alpha = 0;
  double noise = 1;    // V
  double radius = 1;   // D
  double horizon = 1;  // T
  double delta = 0.05;
  double calibration = 1;
  bool restarts = false;

  static std::vector<OptionSpec> options();
  explicit ByzantineBounds(const Options& options)
      : alpha(option<double>(options, "alpha")),
        noise(option<double>(options, "v")),
        radius(option<double>(options, "d")),
        horizon(static_cast<double>(option<std::int64_t>(options, "horizon"))),
        delta(option<double>(options, "delta")),
        calibration(option<double>(options, "calibration")),
        restarts(option<bool>(options, "restarts")) {}

  // Those of a phase, of which only the first is there without restarts.
  double radius_of(double phase) const { return radius * std::exp2(-phase); }
  double horizon_of(double phase) const {
    return horizon * std::exp2(2 * phase);
  }
  double gradients_tube(double workers, double phase) const {
    const double steps = horizon_of(phase);
    return calibration * 4 * noise *
           std::sqrt(steps * std::log(16 * workers * steps / delta));
  }
  // All that tubes depend on, for checkpoints.
  std::vector<double> numbers() const {
    return {noise, radius, horizon, delta, calibration, restarts ? 1.0 : 0.0};
  }
};

}  // namespace weft
