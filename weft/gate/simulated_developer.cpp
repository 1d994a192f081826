#include <algorithm>
#include <map>
#include <random>

#include "weft/base/error.h"
#include "weft/gate/judge.h"
#include "weft/gate/simulation.h"
#include "weft/gate/simulation_random.h"

namespace weft {
namespace {

// Shares of points: both are right, the new one alone, the old one alone; on
// the rest both are wrong.
struct JointShares {
  double both;
  double now_alone;
  double old_alone;
};

JointShares joint_shares(const TrueShares& truth) {
  const double gain = truth.now - truth.old;
  const JointShares shares{.both = truth.now - (truth.different + gain) / 2,
                           .now_alone = (truth.different + gain) / 2,
                           .old_alone = (truth.different - gain) / 2};
  constexpr double kRounding = 1e-12;
  if (std::min({shares.both, shares.now_alone, shares.old_alone,
                1 - shares.both - truth.different}) < -kRounding) {
    throw Error(ErrorCode::kInvalidArgument, "gate",
                "no two models of accuracies {} and {} differ on {} of the "
                "points",
                truth.now, truth.old, truth.different);
  }
  return shares;
}

// Counts on the first so many points, drawn for the sizes that are asked for.
class DrawnCounter final : public GateCounter {
 public:
  DrawnCounter(const GatePlan& plan, const JointShares& shares,
               HistoryRandom& random)
      : points_(plan.points) {
    GateCounts counts;
    for (const std::int64_t size : sizes_of(plan)) {
      add_points(size - counts.points, shares, random, counts);
      counts_[size] = counts;
    }
  }

  std::int64_t points() const override { return points_; }
  std::int64_t differences(std::int64_t points) const override {
    return counts_.at(points).of[2];
  }
  GateCounts count(const GateClause&, std::int64_t points) const override {
    return counts_.at(points);
  }

 private:
  static std::vector<std::int64_t> sizes_of(const GatePlan& plan) {
    std::vector<std::int64_t> sizes{plan.labelled};
    for (const BoundAnswer& answer : plan.clauses) {
      sizes.push_back(answer.points);
      if (answer.filter) sizes.push_back(answer.filter->points);
      if (answer.points_without <= plan.points) {
        sizes.push_back(answer.points_without);
      }
    }
    std::ranges::sort(sizes);
    return sizes;
  }
  static void add_points(std::int64_t points, const JointShares& shares,
                         HistoryRandom& random, GateCounts& counts) {
    // One kind after the other, each a share of what is left.
    double rest = 1;
    std::int64_t left = points;
    const auto draw = [&](double share) {
      const double chance = rest > 0 ? std::clamp(share / rest, 0.0, 1.0) : 0.0;
      const std::int64_t count =
          std::binomial_distribution<std::int64_t>(left, chance)(random);
      left -= count;
      rest -= share;
      return count;
    };
    const std::int64_t now_alone = draw(shares.now_alone);
    const std::int64_t old_alone = draw(shares.old_alone);
    const std::int64_t both = draw(shares.both);
    counts.points += points;
    counts.of[0] += both + now_alone;
    counts.of[1] += both + old_alone;
    counts.of[2] += now_alone + old_alone;
  }

  std::int64_t points_;
  std::map<std::int64_t, GateCounts> counts_;
};

// Whether the truth meets the condition, in the worse case on its edge.
bool is_met(const GateTerms& terms, const TrueShares& truth) {
  constexpr double kRounding = 1e-12;
  return std::ranges::all_of(
      terms.condition.clauses, [&](const GateClause& clause) {
        const double sum = clause.coefficients[0].value() * truth.now +
                           clause.coefficients[1].value() * truth.old +
                           clause.coefficients[2].value() * truth.different;
        const double above =
            (sum - clause.threshold.value()) * (clause.is_greater ? 1 : -1);
        return terms.mode == GateMode::kFpFree ? above > kRounding
                                               : above > -kRounding;
      });
}

}  // namespace

SimulatedHistories simulate_developer(const GateTerms& terms,
                                      const GatePlan& plan,
                                      const TrueShares& truth,
                                      std::int64_t histories,
                                      std::uint64_t seed) {
  const JointShares shares = joint_shares(truth);
  const bool should_pass = is_met(terms, truth);
  SimulatedHistories result{.histories = histories};
  double labels = 0;
  for (std::int64_t history = 0; history < histories; ++history) {
    HistoryRandom random(seed, history);
    bool is_wrong = false;
    for (std::int64_t step = 0; step < terms.steps; ++step) {
      const DrawnCounter counter(plan, shares, random);
      const bool passed = judge(terms, plan, counter).passed;
      ++result.verdicts;
      result.passed += passed;
      labels += static_cast<double>(plan.labels_differences_only
                                        ? counter.differences(plan.labelled)
                                        : plan.labelled);
      is_wrong |=
          passed != should_pass && passed == (terms.mode == GateMode::kFpFree);
      if (passed && terms.adaptivity == Adaptivity::kFirstChange) break;
    }
    result.wrong += is_wrong;
  }
  result.labels = labels / static_cast<double>(result.verdicts);
  return result;
}

}  // namespace weft
