// Exact values beside sampled ones, of the same points.
//
// Sampling asks for the utility of each beginning of a permutation: we time one
// permutation at this size, and count how many it takes until values rank as
// the exact ones do, at a size at which that can be waited for.
#include <algorithm>
#include <cmath>

#include "bench/market/measure.h"
#include "bench/market/points.h"

#include "weft/market/sampled_shapley.h"

namespace weft::market_bench {
namespace {

constexpr std::int64_t kTestPoints = 100;
constexpr std::int64_t kSmall = 300;
constexpr double kAgreement = 0.9;  // of ranks
constexpr std::int64_t kMostPermutations = 4096;
// Beginnings of a permutation that are timed at full size.
constexpr std::int64_t kTimedPlaces = 20;

std::vector<double> ranks_of(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](auto a, auto b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t j = i;
    while (j < order.size() && values[order[j]] == values[order[i]]) ++j;
    for (std::size_t k = i; k < j; ++k) {
      ranks[order[k]] = static_cast<double>(i + j - 1) / 2;
    }
    i = j;
  }
  return ranks;
}

// Spearman's.
double rank_correlation(const std::vector<double>& a,
                        const std::vector<double>& b) {
  const std::vector<double> x = ranks_of(a);
  const std::vector<double> y = ranks_of(b);
  const double mean = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - mean) * (y[i] - mean);
    xx += (x[i] - mean) * (x[i] - mean);
    yy += (y[i] - mean) * (y[i] - mean);
  }
  return xy / std::sqrt(xx * yy);
}

market::Utility utility_of(const TwoParts& parts) {
  return [&parts](std::span<const std::int64_t> rows) {
    return market::knn_utility(parts.train.view(), parts.test.view(), rows, 10);
  };
}

// How many permutations it takes, by doubling.
std::int64_t permutations_needed(const TwoParts& parts, double& reached) {
  const auto exact = market::knn_shapley(parts.train.view(), parts.test.view());
  for (std::int64_t count = 1;; count *= 2) {
    const auto sampled =
        market::sampled_shapley(std::ssize(parts.train.labels),
                                utility_of(parts), {.permutations = count});
    reached = rank_correlation(exact, sampled);
    if (reached >= kAgreement || count == kMostPermutations) return count;
  }
}

// One permutation asks for beginnings of all lengths: their mean is that of
// evenly spaced ones.
double seconds_of_permutation(const TwoParts& parts) {
  const auto utility = utility_of(parts);
  const std::int64_t size = std::ssize(parts.train.labels);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(size));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const Watch watch;
  for (std::int64_t i = 1; i <= kTimedPlaces; ++i) {
    utility(std::span(rows).first(
        static_cast<std::size_t>(size * i / kTimedPlaces)));
  }
  return watch.seconds() / kTimedPlaces * static_cast<double>(size);
}

}  // namespace

Told measure_shapley(const std::string& data, const std::string& folder,
                     std::int64_t points) {
  const TwoParts large = two_parts(data, folder, points, kTestPoints);
  const Watch watch;
  const auto values =
      market::knn_shapley(large.train.view(), large.test.view());
  const double exact = watch.seconds();
  const double one = seconds_of_permutation(large);
  const TwoParts small = two_parts(data, folder, kSmall, kTestPoints);
  double reached = 0;
  const std::int64_t needed = permutations_needed(small, reached);
  const double sum = std::accumulate(values.begin(), values.end(), 0.0);
  std::vector<std::int64_t> all(values.size());
  std::iota(all.begin(), all.end(), std::int64_t{0});
  return {{"points", points},
          {"exact_s", exact},
          {"permutation_s", one},
          {"permutations", needed},
          {"rank_correlation", reached},
          {"sampled_s", one * static_cast<double>(needed)},
          {"efficiency_error", std::abs(sum - utility_of(large)(all))}};
}

}  // namespace weft::market_bench
