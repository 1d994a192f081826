// y = a e^(p x) + b e^(q x) through points at equal distances, without
// starting values: by integral equations (Jacquelin, "Régressions et équations
// intégrales", 2009; as Fit-DExp in Xu et al., "DeepReduce", NeurIPS 2021).
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>

namespace weft {

struct DoubleExponential {
  float a = 0;
  float p = 0;
  float b = 0;
  float q = 0;

  // Whether all values on [0, 1] are finite f32.
  bool is_bounded() const;
  // The values at y.size() points from 0 to 1.
  void evaluate(std::span<float> y) const;
};

// Fits with x from 0 to 1. Gives nothing where the method has no answer:
// exponents that are complex, or equal or nearly so, coefficients that do not
// fit an f32, fewer than 5 points. `y` are not negative.
std::optional<DoubleExponential> fit_double_exponential(
    std::span<const float> y);

}  // namespace weft
