// Privacy as the distribution of the privacy loss counts it: how likely the
// result says ln(P / Q) = l about whether a person is there (Sommer, Meiser,
// Mohammadi, "Privacy loss classes", 2019). Nearly exact, where Rényi curves
// lose ten percent; never below the truth.
//
// Losses lie on a grid. What lies between two points goes to both of them, in
// the shares that keep its probability under P and under Q (Doroshenko et al.,
// "Connect the dots", PETS 2022), which is the least that is never too little.
// Mechanisms one after the other are convolutions. What is cut off, and what
// rounding and Fourier transforms may have lost, is added to what can be told.
//
// Threads: value types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "weft/privacy/mechanism.h"

namespace weft::privacy {

class PrivacyLoss {
 public:
  // One step has it. Losses are multiples of `interval`; those above 2^20 count
  // as infinite. Throws Error(kUnsupported) for a mechanism without a hockey
  // stick.
  PrivacyLoss(const Mechanism& mechanism, Neighbour neighbour, double interval);

  // A number of independent losses of one distribution.
  struct Repeated {
    const PrivacyLoss* loss = nullptr;
    std::int64_t times = 1;
  };
  // The distribution of their sum; all have the same interval. O(n log n) for n
  // points.
  static PrivacyLoss sum(std::span<const Repeated> parts);
  // How many points that has.
  static std::size_t points_of_sum(std::span<const Repeated> parts);

  // The least epsilon >= 0 with this delta; infinite where there is none.
  double epsilon(double delta) const;
  double delta(double epsilon) const;

  double interval() const { return interval_; }
  // masses()[i] is at (lowest() + i) intervals.
  std::int64_t lowest() const { return lowest_; }
  std::span<const double> masses() const { return masses_; }
  double infinite_mass() const { return infinite_mass_; }

  bool operator==(const PrivacyLoss&) const = default;

 private:
  PrivacyLoss() = default;

  double interval_ = 0;
  std::int64_t lowest_ = 0;
  std::vector<double> masses_;
  double infinite_mass_ = 0;  // results that only one of the two has
};

// dp-accounting's.
constexpr double kLossInterval = 1e-4;

// Both directions of all mechanisms, one after the other.
struct PrivacyLosses {
  PrivacyLoss removed;
  PrivacyLoss added;

  double epsilon(double delta) const;
  double delta(double epsilon) const;
};
// The grid is twice as wide, again and again, while the losses span more than
// 2^21 points; epsilon is above 100 then. Throws as PrivacyLoss does.
PrivacyLosses privacy_losses(const Mechanisms& mechanisms,
                             double interval = kLossInterval);

}  // namespace weft::privacy
