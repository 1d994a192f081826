#include "weft/concurrent/counter/cost_distribution.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/base/error.h"

namespace weft::concurrent {

CostDistribution::CostDistribution(std::vector<double> costs)
    : sorted_(std::move(costs)) {
  if (sorted_.empty())
    throw Error(ErrorCode::kInvalidArgument, "CostDistribution",
                "there are no costs");
  // Costs are sorted once, so that each at_most() is a binary search.
  std::sort(sorted_.begin(), sorted_.end());
}

double CostDistribution::mean() const {
  return std::accumulate(sorted_.begin(), sorted_.end(), 0.0) /
         static_cast<double>(size());
}

double CostDistribution::at_most(double cost) const {
  const auto end = std::upper_bound(sorted_.begin(), sorted_.end(), cost);
  return static_cast<double>(end - sorted_.begin()) /
         static_cast<double>(size());
}

double CostDistribution::excess_over(const CostDistribution& other) const {
  // The difference is largest where the other one steps up.
  double excess = 0;
  for (const double cost : other.sorted_)
    excess = std::max(excess, other.at_most(cost) - at_most(cost));
  return excess;
}

// Either one may be the larger, so the statistic takes both directions.
double CostDistribution::distance_to(const CostDistribution& other) const {
  return std::max(excess_over(other), other.excess_over(*this));
}

double distance_threshold(std::size_t first, std::size_t second, double level) {
  const auto n = static_cast<double>(first);
  const auto m = static_cast<double>(second);
  // The asymptotic bound of Kolmogorov and Smirnov for two samples.
  return std::sqrt(-0.5 * std::log(level / 2) * (n + m) / (n * m));
}

}  // namespace weft::concurrent
