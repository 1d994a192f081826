// Privacy as Rényi differential privacy counts it: a number for each order of
// the divergence (Mironov, "Rényi differential privacy", CSF 2017). Curves of
// mechanisms that run one after the other are added, also where each is chosen
// by what the earlier ones gave, as long as a total that was fixed before is
// kept at one order (Feldman and Zrnic, 2021: a privacy filter).
//
// Threads: value types.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace weft::privacy {

// (epsilon, delta)-differential privacy.
struct Guarantee {
  double epsilon = 0;
  double delta = 0;
};

// Orders above 1, ascending. The last may be infinite, at which curves count
// pure epsilon-differential privacy. Copies share their numbers.
class RenyiOrders {
 public:
  // Throws Error(kInvalidArgument) for none, for orders that do not ascend, and
  // for one that is not a number above 1.
  explicit RenyiOrders(std::vector<double> orders);

  std::size_t size() const { return orders_->size(); }
  double operator[](std::size_t i) const { return (*orders_)[i]; }
  std::span<const double> all() const { return *orders_; }
  bool operator==(const RenyiOrders& other) const {
    return orders_ == other.orders_ || *orders_ == *other.orders_;
  }

 private:
  std::shared_ptr<const std::vector<double>> orders_;
};

// 1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 16, 32, 64: those of budgets that many
// share (Lécuyer et al., PrivateKube, OSDI 2021).
const RenyiOrders& budget_orders();
// 1.1 to 10.9 in tenths, 11 to 63, 128, 256, 512, 1024: finer, for the epsilon
// of a single run. They are those of dp-accounting.
const RenyiOrders& accounting_orders();
// Infinity alone: sums of epsilons, as before Rényi.
const RenyiOrders& pure_orders();

class RenyiCurve {
 public:
  // Zero at every order.
  explicit RenyiCurve(RenyiOrders orders);
  // Throws Error(kInvalidArgument) unless there is a number for each order. It
  // may be infinite, and below zero in what is left of a budget.
  RenyiCurve(RenyiOrders orders, std::vector<double> values);

  const RenyiOrders& orders() const { return orders_; }
  std::span<const double> values() const { return values_; }
  std::size_t size() const { return values_.size(); }
  double operator[](std::size_t i) const { return values_[i]; }

  // Both must have the same orders. What is subtracted is finite where this is
  // infinite: a sum that gave up a part is added up again.
  RenyiCurve& operator+=(const RenyiCurve& other);
  RenyiCurve& operator-=(const RenyiCurve& other);
  // The factor is a finite number from 0 on; 0 times infinity is 0.
  RenyiCurve& operator*=(double factor);

  bool operator==(const RenyiCurve&) const = default;

 private:
  RenyiOrders orders_;
  std::vector<double> values_;
};

RenyiCurve operator+(RenyiCurve a, const RenyiCurve& b);
RenyiCurve operator-(RenyiCurve a, const RenyiCurve& b);
RenyiCurve operator*(double factor, RenyiCurve curve);

// What may be spent so that (epsilon, delta) holds, as long as one order's
// total is within it: epsilon + ln(delta) / (order - 1), or 0 where that is
// below (Mironov, 2017, proposition 3). Throws Error(kInvalidArgument) for an
// epsilon that is not above 0, or a delta that is not in (0, 1); and where
// every order has 0, so that nothing could ever be granted.
RenyiCurve capacity(const Guarantee& guarantee, const RenyiOrders& orders);

// An epsilon or delta, and the order that gave it.
struct AtOrder {
  double value = 0;
  double order = 0;
};

// The least epsilon over all orders (Balle et al., "Hypothesis testing
// interpretations and Rényi differential privacy", 2020, theorem 21):
//   min r + ln((order - 1) / order) - (ln delta + ln order) / (order - 1)
// rounded up by a part in 10^9, which covers how it is computed. Infinite
// where every order is. Values are at least 0 here. Throws
// Error(kInvalidArgument) for a delta that is not in (0, 1).
AtOrder epsilon_of(const RenyiCurve& curve, double delta);
// The least delta in the same way, at most 1.
AtOrder delta_of(const RenyiCurve& curve, double epsilon);

// Whether a demand fits beside what was consumed into what may be: at one order
// at least, of those where anything may be. So sums that are as large as what
// may be are still within it. Nothing always fits.
bool fits(std::span<const double> demand, std::span<const double> consumed,
          std::span<const double> most);

}  // namespace weft::privacy
