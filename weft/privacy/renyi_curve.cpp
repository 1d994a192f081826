#include "weft/privacy/renyi_curve.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "weft/base/error.h"

namespace weft::privacy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRoundedUp = 1 + 1e-9;

void check_delta(double delta) {
  if (!(delta > 0 && delta < 1)) {
    throw Error(ErrorCode::kInvalidArgument, "delta", "{} is not in (0, 1)",
                delta)
        .hint("it is well below one over the number of people: 1e-6");
  }
}

// The total variation, which is delta at every epsilon from 0 on, is at most
// sqrt(1 - exp(-KL)) (Bretagnolle and Huber, 1979), and no order's divergence
// is below that of order 1, KL.
double log_total_variation(double divergence) {
  return 0.5 * std::log(-std::expm1(-divergence));
}

double epsilon_at(double order, double divergence, double delta) {
  if (log_total_variation(divergence) < std::log(delta)) return 0;
  // At order infinity the divergence is the epsilon of pure privacy.
  if (std::isinf(order)) return divergence;
  return divergence + std::log1p(-1 / order) -
         std::log(delta * order) / (order - 1);
}

double log_delta_at(double order, double divergence, double epsilon) {
  // No ratio of probabilities exceeds exp(epsilon) then, so delta is 0.
  if (std::isinf(order) && divergence <= epsilon) return -kInfinity;
  if (std::isinf(order)) return log_total_variation(divergence);
  const double log_delta =
      (order - 1) * (divergence - epsilon + std::log1p(-1 / order)) -
      std::log(order);
  return std::min(log_delta, log_total_variation(divergence));
}

}  // namespace

RenyiOrders::RenyiOrders(std::vector<double> orders) {
  double last = 1;
  for (const double order : orders) {
    if (!(order > last)) {
      throw Error(ErrorCode::kInvalidArgument, "Rényi orders",
                  "{} follows {}: they must be above 1, and ascend", order,
                  last);
    }
    last = order;
  }
  if (orders.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "Rényi orders", "there are none");
  }
  orders_ = std::make_shared<const std::vector<double>>(std::move(orders));
}

const RenyiOrders& budget_orders() {
  static const RenyiOrders orders(
      {1.5, 1.75, 2, 2.5, 3, 4, 5, 6, 8, 16, 32, 64});
  return orders;
}

const RenyiOrders& accounting_orders() {
  static const RenyiOrders orders([] {
    std::vector<double> all;
    for (int tenths = 1; tenths < 100; ++tenths)
      all.push_back(1 + tenths / 10.);
    for (int order = 11; order < 64; ++order) all.push_back(order);
    all.insert(all.end(), {128, 256, 512, 1024});
    return all;
  }());
  return orders;
}

const RenyiOrders& pure_orders() {
  static const RenyiOrders orders({kInfinity});
  return orders;
}

RenyiCurve::RenyiCurve(RenyiOrders orders)
    : orders_(std::move(orders)), values_(orders_.size()) {}

RenyiCurve::RenyiCurve(RenyiOrders orders, std::vector<double> values)
    : orders_(std::move(orders)), values_(std::move(values)) {
  if (values_.size() != orders_.size()) {
    throw Error(ErrorCode::kInvalidArgument, "Rényi curve",
                "{} values were given for {} orders", values_.size(),
                orders_.size());
  }
  for (std::size_t i = 0; i < values_.size(); ++i) {
    if (std::isnan(values_[i])) {
      throw Error(ErrorCode::kInvalidArgument, "Rényi curve",
                  "the value at order {} is not a number", orders_[i]);
    }
  }
}

RenyiCurve& RenyiCurve::operator+=(const RenyiCurve& other) {
  WEFT_CHECK(orders_ == other.orders_, "curves have different orders");
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] += other.values_[i];
    WEFT_CHECK(!std::isnan(values_[i]), "infinity less infinity");
  }
  return *this;
}

RenyiCurve& RenyiCurve::operator-=(const RenyiCurve& other) {
  WEFT_CHECK(orders_ == other.orders_, "curves have different orders");
  for (std::size_t i = 0; i < values_.size(); ++i) {
    values_[i] -= other.values_[i];
    WEFT_CHECK(!std::isnan(values_[i]), "infinity less infinity");
  }
  return *this;
}

RenyiCurve& RenyiCurve::operator*=(double factor) {
  WEFT_CHECK(std::isfinite(factor) && factor >= 0, "{} times a curve", factor);
  // No use of a mechanism that gives all away gives nothing away: 0 times
  // infinity is 0 here.
  for (double& value : values_) value = factor == 0 ? 0 : factor * value;
  return *this;
}

RenyiCurve operator+(RenyiCurve a, const RenyiCurve& b) {
  return std::move(a += b);
}
RenyiCurve operator-(RenyiCurve a, const RenyiCurve& b) {
  return std::move(a -= b);
}
RenyiCurve operator*(double factor, RenyiCurve curve) {
  return std::move(curve *= factor);
}

RenyiCurve capacity(const Guarantee& guarantee, const RenyiOrders& orders) {
  const auto [epsilon, delta] = guarantee;
  if (!(epsilon > 0) || !std::isfinite(epsilon)) {
    throw Error(ErrorCode::kInvalidArgument, "epsilon",
                "{} is not a finite number above 0", epsilon);
  }
  check_delta(delta);
  // What may be consumed at an order for epsilon to follow (Mironov, "Rényi
  // differential privacy", 2017, proposition 3). Orders at which delta alone
  // takes more than epsilon have nothing.
  std::vector<double> values;
  for (const double order : orders.all()) {
    values.push_back(std::max(0.0, epsilon + std::log(delta) / (order - 1)));
  }
  if (values.back() == 0) {
    const double last = orders.all().back();
    throw Error(ErrorCode::kInvalidArgument, "privacy budget",
                "epsilon {} with delta {} leaves nothing at any order up to {}",
                epsilon, delta, last)
        .hint(fmt::format("epsilon must be above {:.4g} with this delta",
                          -std::log(delta) / (last - 1)));
  }
  return {orders, std::move(values)};
}

AtOrder epsilon_of(const RenyiCurve& curve, double delta) {
  check_delta(delta);
  AtOrder least{kInfinity, curve.orders()[0]};
  for (std::size_t i = 0; i < curve.size(); ++i) {
    WEFT_CHECK(curve[i] >= 0, "a divergence of {}", curve[i]);
    const double order = curve.orders()[i];
    const double epsilon = std::max(0.0, epsilon_at(order, curve[i], delta));
    if (epsilon < least.value) least = {epsilon, order};
  }
  least.value *= kRoundedUp;
  return least;
}

AtOrder delta_of(const RenyiCurve& curve, double epsilon) {
  if (!(epsilon >= 0)) {
    throw Error(ErrorCode::kInvalidArgument, "epsilon", "{} is below 0",
                epsilon);
  }
  AtOrder least{0, curve.orders()[0]};
  for (std::size_t i = 0; i < curve.size(); ++i) {
    WEFT_CHECK(curve[i] >= 0, "a divergence of {}", curve[i]);
    const double order = curve.orders()[i];
    const double log_delta = log_delta_at(order, curve[i], epsilon);
    if (log_delta < least.value) least = {log_delta, order};
  }
  least.value = std::min(1.0, std::exp(least.value) * kRoundedUp);
  return least;
}

bool fits(std::span<const double> demand, std::span<const double> consumed,
          std::span<const double> most) {
  WEFT_CHECK(demand.size() == consumed.size() && demand.size() == most.size());
  bool is_nothing = true;
  for (std::size_t i = 0; i < demand.size(); ++i) {
    if (most[i] > 0 && consumed[i] + demand[i] <= most[i]) return true;
    is_nothing &= demand[i] == 0;
  }
  return is_nothing;
}

}  // namespace weft::privacy
