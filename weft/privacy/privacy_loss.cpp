#include "weft/privacy/privacy_loss.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "weft/base/error.h"
#include "weft/privacy/loss_sum.h"

namespace weft::privacy {
namespace {

// What lies beyond the grid is counted as told.
const double kBeyond = std::exp(-50);
constexpr double kMostLoss = 1 << 20;
constexpr std::int64_t kMostPoints = 1 << 21;
// Above all rounding in hockey sticks, and in sums over a grid.
constexpr double kRaised = 1 + 1e-11;
// Above all rounding in what is found by them.
constexpr double kLossRoundedUp = 1 + 1e-8;

using Curve = std::function<double(double)>;

// e^epsilon H'(-epsilon), with the hockey stick of the other direction. As
//   H(epsilon) = 1 - e^epsilon + e^epsilon H'(-epsilon),
// it bends where H does, and has digits where H is near 1.
Curve bent(const Mechanism& mechanism, Neighbour neighbour) {
  const auto other = neighbour == Neighbour::kRemoved ? Neighbour::kAdded
                                                      : Neighbour::kRemoved;
  return [&mechanism, other](double epsilon) {
    return std::exp(epsilon) *
           mechanism.def->hockey_stick(mechanism.options, other, -epsilon);
  };
}

Curve hockey_stick(const Mechanism& mechanism, Neighbour neighbour) {
  if (mechanism.def->hockey_stick == nullptr) {
    throw Error(ErrorCode::kUnsupported, mechanism.def->name,
                "the distribution of its privacy loss is not known")
        .hint("Rényi accounting (rdp) can count it");
  }
  return [&mechanism, neighbour](double epsilon) {
    return mechanism.def->hockey_stick(mechanism.options, neighbour, epsilon);
  };
}

// The first multiple of the interval from which a falling curve is negligible,
// or which is the most that is told apart.
std::int64_t end_of(const Curve& curve, double interval) {
  auto low = std::int64_t{0};
  auto high = static_cast<std::int64_t>(kMostLoss / interval);
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (curve(static_cast<double>(middle) * interval) > kBeyond ? low : high) =
        middle;
  }
  return high;
}

struct LossRange {
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
};

LossRange range_of(const Mechanism& mechanism, Neighbour neighbour,
                   double interval) {
  const Curve curve = bent(mechanism, neighbour);
  return {-end_of([&](double below) { return curve(-below); }, interval),
          end_of(hockey_stick(mechanism, neighbour), interval)};
}

}  // namespace

PrivacyLoss::PrivacyLoss(const Mechanism& mechanism, Neighbour neighbour,
                         double interval)
    : interval_(interval) {
  const Curve right = hockey_stick(mechanism, neighbour);
  const Curve left = bent(mechanism, neighbour);
  const auto [lowest, highest] = range_of(mechanism, neighbour, interval);
  lowest_ = lowest;

  // Algorithm 1 of Connect the dots: H becomes linear in e^epsilon between the
  // points, and the masses are where it bends.
  masses_.resize(static_cast<std::size_t>(highest - lowest + 1));
  const double grown = std::expm1(interval);
  const auto at = [&](std::int64_t i) {
    return static_cast<double>(i) * interval;
  };
  const auto fill = [&](std::int64_t from, std::int64_t to, double before,
                        const Curve& curve) {
    double here = curve(at(from));
    for (std::int64_t i = from; i < to; ++i) {
      const double next = curve(at(i + 1));
      masses_[static_cast<std::size_t>(i - lowest)] = std::max(
          0.0,
          kRaised * ((next - here) - (1 + grown) * (here - before)) / grown);
      before = here;
      here = next;
    }
  };
  // Below the first point it goes straight to 0, where e^epsilon is.
  fill(lowest, 0, left(at(lowest)) / (1 + grown), left);
  fill(0, highest, right(-interval), right);
  infinite_mass_ = std::min(1.0, kRaised * right(at(highest)));
  masses_.back() = kRaised *
                   std::max(0.0, right(at(highest - 1)) - right(at(highest))) *
                   (1 + grown) / grown;
}

namespace {

std::vector<LossTerm> terms_of(std::span<const PrivacyLoss::Repeated> parts) {
  std::vector<LossTerm> terms;
  for (const auto& [loss, times] : parts) {
    WEFT_CHECK(loss->interval() == parts[0].loss->interval() && times >= 1);
    terms.push_back({loss->masses(), loss->lowest(), times});
  }
  return terms;
}

}  // namespace

std::size_t PrivacyLoss::points_of_sum(std::span<const Repeated> parts) {
  return loss_window(terms_of(parts)).points();
}

PrivacyLoss PrivacyLoss::sum(std::span<const Repeated> parts) {
  WEFT_CHECK(!parts.empty());
  if (parts.size() == 1 && parts[0].times == 1) return *parts[0].loss;
  const std::vector<LossTerm> terms = terms_of(parts);
  const LossWindow window = loss_window(terms);
  double log_finite = 0;
  for (const auto& [loss, times] : parts)
    log_finite +=
        static_cast<double>(times) * std::log1p(-loss->infinite_mass_);
  PrivacyLoss total;
  total.interval_ = parts[0].loss->interval_;
  total.lowest_ = window.lowest;
  total.masses_ = loss_sum(terms, window);
  total.infinite_mass_ =
      std::min(1.0, window.outside - std::expm1(log_finite) * kRaised);
  return total;
}

double PrivacyLoss::epsilon(double delta) const {
  // From the highest loss down: `told` is the delta of the point, less the
  // infinite mass; `reach`, the sum of masses above it and of its own, each
  // times e^(point - loss), says how delta grows below it.
  double told = 0;
  double reach = 0;
  const double shrink = std::exp(-interval_);
  const double target = delta / kRaised - infinite_mass_;
  if (target < 0) return std::numeric_limits<double>::infinity();
  for (auto i = static_cast<std::int64_t>(masses_.size()) - 1; lowest_ + i > 0;
       --i) {
    reach += masses_[static_cast<std::size_t>(i)];
    const double next = told - reach * std::expm1(-interval_);
    if (next > target) {
      // It is between this point and the one below.
      const double point = static_cast<double>(lowest_ + i) * interval_;
      const double found = point + std::log1p((told - target) / reach);
      return std::max(0.0, found) * kLossRoundedUp;
    }
    told = next;
    reach *= shrink;
  }
  return 0;
}

double PrivacyLoss::delta(double epsilon) const {
  double told = infinite_mass_;
  for (auto i = static_cast<std::int64_t>(masses_.size()) - 1; i >= 0; --i) {
    const double loss = static_cast<double>(lowest_ + i) * interval_;
    if (loss <= epsilon) break;
    told -= masses_[static_cast<std::size_t>(i)] * std::expm1(epsilon - loss);
  }
  return std::min(1.0, told * kLossRoundedUp);
}

namespace {

// The losses of single steps, and what they are summed to.
struct OneDirection {
  OneDirection(const Mechanisms& mechanisms, Neighbour neighbour,
               double interval) {
    losses.reserve(mechanisms.size());
    for (const Mechanism& mechanism : mechanisms) {
      losses.emplace_back(mechanism, neighbour, interval);
      parts.push_back({&losses.back(), mechanism.steps()});
    }
  }

  bool fits() const {
    return PrivacyLoss::points_of_sum(parts) <=
           static_cast<std::size_t>(kMostPoints);
  }

  std::vector<PrivacyLoss> losses;
  std::vector<PrivacyLoss::Repeated> parts;
};

bool is_coarse_enough(const Mechanism& mechanism, double interval) {
  const auto [lowest, highest] =
      range_of(mechanism, Neighbour::kRemoved, interval);
  return highest - lowest <= kMostPoints;
}

}  // namespace

PrivacyLosses privacy_losses(const Mechanisms& mechanisms, double interval) {
  for (const Mechanism& mechanism : mechanisms)
    while (!is_coarse_enough(mechanism, interval)) interval *= 2;
  for (;; interval *= 2) {
    const OneDirection removed(mechanisms, Neighbour::kRemoved, interval);
    const OneDirection added(mechanisms, Neighbour::kAdded, interval);
    if (!removed.fits() || !added.fits()) continue;
    const PrivacyLoss total = PrivacyLoss::sum(removed.parts);
    // Without sampling both directions are one.
    return {total, removed.losses == added.losses
                       ? total
                       : PrivacyLoss::sum(added.parts)};
  }
}

double PrivacyLosses::epsilon(double delta) const {
  return std::max(removed.epsilon(delta), added.epsilon(delta));
}

double PrivacyLosses::delta(double epsilon) const {
  return std::max(removed.delta(epsilon), added.delta(epsilon));
}

}  // namespace weft::privacy
