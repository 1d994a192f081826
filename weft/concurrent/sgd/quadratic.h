// F(x) = |x|^2 / 2 with gradients x - u, u normal: what the lower bound of
// lock-free SGD is about (Alistarh, De Sa, Konstantinov, PODC 2018). The
// optimum is 0, and c = L = 1.
//
// Threads: immutable.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>

#include "weft/base/error.h"
#include "weft/base/philox.h"
#include "weft/concurrent/sgd/problem.h"

namespace weft::concurrent {

template <class Number>
class Quadratic final : public SgdProblem<Number> {
 public:
  // `noise`: the standard deviation of each entry of u; it is a function of the
  // seed, the iteration and the entry. Throws Error(kInvalidArgument) for 0
  // dimensions, or noise below 0.
  explicit Quadratic(std::uint32_t dimensions, double noise = 0,
                     std::uint64_t seed = 1)
      : dimensions_(dimensions), noise_(noise), seed_(seed) {
    if (dimensions == 0 || !(noise >= 0) || std::isinf(noise))
      throw Error(ErrorCode::kInvalidArgument, "quadratic",
                  "{} dimensions and noise of {}", dimensions, noise)
          .hint("at least one, and noise of 0 or more");
  }

  std::uint32_t dimensions() const override { return dimensions_; }
  std::uint64_t sample(std::uint64_t iteration) const override {
    return iteration;
  }
  void gradient(std::uint64_t sample, std::span<const Number> view,
                std::span<Number> result) const override {
    const RandomStream random{seed_, static_cast<std::uint32_t>(sample >> 32U),
                              static_cast<std::uint32_t>(sample)};
    for (std::size_t j = 0; j < result.size(); ++j) {
      result[j] = view[j];
      if (noise_ == 0) continue;
      const PhiloxBlock words = random.block(j);
      result[j] -= static_cast<Number>(
          noise_ * static_cast<double>(normal_from(words[0], words[1])[0]));
    }
  }

  double loss(std::span<const Number> x) const override {
    double sum = 0;
    for (const Number each : x)
      sum += static_cast<double>(each) * static_cast<double>(each);
    return sum / 2;
  }

 private:
  std::uint32_t dimensions_;
  double noise_;
  std::uint64_t seed_;
};

}  // namespace weft::concurrent
