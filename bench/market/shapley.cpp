// Exact values beside sampled ones, of the same points.
//
// Sampling asks for the utility of each beginning of a permutation: what a
// model without a closed form needs. Distances are computed once for all, as
// whoever samples for long would. What a sampler that knows neighbours can do,
// and adds one point after another, is told too: it also finds how many
// permutations it takes until values rank as the exact ones do.
#include <algorithm>
#include <cmath>

#include "bench/market/measure.h"
#include "bench/market/points.h"

#include "weft/base/permutation.h"

namespace weft::market_bench {
namespace {

constexpr std::int64_t kTestPoints = 100;
constexpr std::size_t kNearest = 10;
constexpr double kAgreement = 0.9;  // of ranks
constexpr std::int64_t kMostPermutations = 8192;
// Beginnings of a permutation that are timed.
constexpr std::int64_t kTimedPlaces = 20;

// For each test point, the place of each training point among its neighbours.
struct Neighbours {
  std::vector<std::vector<std::int32_t>> places;
  std::vector<std::vector<char>> matches;

  std::int64_t points() const { return std::ssize(places[0]); }
};

Neighbours neighbours_of(const TwoParts& parts) {
  Neighbours result;
  const auto width = static_cast<std::size_t>(parts.train.width);
  for (std::size_t t = 0; t < parts.test.labels.size(); ++t) {
    std::vector<std::pair<float, std::int32_t>> order;
    std::vector<char> matches;
    for (std::size_t i = 0; i < parts.train.labels.size(); ++i) {
      float sum = 0;
      for (std::size_t j = 0; j < width; ++j) {
        const float d = parts.train.values[i * width + j] -
                        parts.test.values[t * width + j];
        sum += d * d;
      }
      order.emplace_back(sum, static_cast<std::int32_t>(i));
      matches.push_back(parts.train.labels[i] == parts.test.labels[t]);
    }
    std::sort(order.begin(), order.end());
    std::vector<std::int32_t> places(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      places[static_cast<std::size_t>(order[i].second)] =
          static_cast<std::int32_t>(i);
    }
    result.places.push_back(std::move(places));
    result.matches.push_back(std::move(matches));
  }
  return result;
}

// v of some rows, anew.
double utility(const Neighbours& all, std::span<const std::int64_t> rows) {
  std::int64_t right = 0;
  std::vector<std::pair<std::int32_t, char>> found(rows.size());
  const std::size_t nearest = std::min(kNearest, rows.size());
  for (std::size_t t = 0; t < all.places.size(); ++t) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto row = static_cast<std::size_t>(rows[i]);
      found[i] = {all.places[t][row], all.matches[t][row]};
    }
    std::nth_element(found.begin(),
                     found.begin() + static_cast<std::ptrdiff_t>(nearest),
                     found.end());
    for (std::size_t i = 0; i < nearest; ++i) right += found[i].second;
  }
  return static_cast<double>(right) /
         static_cast<double>(kNearest * all.places.size());
}

// Adds what each point brings in one permutation, keeping the nearest so far.
void add_permutation(const Neighbours& all, std::int64_t number,
                     std::vector<double>& sums) {
  const auto size = static_cast<std::uint64_t>(all.points());
  const Permutation order(size, /*seed=*/1, /*stream=*/0,
                          static_cast<std::uint32_t>(number));
  std::vector<std::size_t> rows;
  for (std::uint64_t i = 0; i < size; ++i) rows.push_back(order(i));
  const double share = 1.0 / static_cast<double>(kNearest * all.places.size());
  for (std::size_t t = 0; t < all.places.size(); ++t) {
    std::array<std::pair<std::int32_t, char>, kNearest> nearest;
    std::size_t count = 0;
    for (const std::size_t row : rows) {
      const std::pair<std::int32_t, char> one{all.places[t][row],
                                              all.matches[t][row]};
      if (count == kNearest && one.first > nearest[count - 1].first) continue;
      double change = one.second;
      if (count == kNearest) change -= nearest[--count].second;
      std::size_t at = count++;
      for (; at > 0 && nearest[at - 1].first > one.first; --at) {
        nearest[at] = nearest[at - 1];
      }
      nearest[at] = one;
      sums[row] += change * share;
    }
  }
}

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

// One permutation asks for beginnings of all lengths: their mean is that of
// evenly spaced ones.
double seconds_of_permutation(const Neighbours& all) {
  const std::int64_t size = all.points();
  std::vector<std::int64_t> rows(static_cast<std::size_t>(size));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const Watch watch;
  for (std::int64_t i = 1; i <= kTimedPlaces; ++i) {
    utility(all, std::span(rows).first(
                     static_cast<std::size_t>(size * i / kTimedPlaces)));
  }
  return watch.seconds() / kTimedPlaces * static_cast<double>(size);
}

}  // namespace

Told measure_shapley(const std::string& data, const std::string& folder,
                     std::int64_t points) {
  const TwoParts parts = two_parts(data, folder, points, kTestPoints);
  const Watch exact_watch;
  const auto exact = market::knn_shapley(parts.train.view(), parts.test.view());
  const double exact_seconds = exact_watch.seconds();
  const Neighbours all = neighbours_of(parts);
  const double asking = seconds_of_permutation(all);
  std::vector<double> sums(exact.size());
  std::int64_t count = 0;
  double reached = 0;
  const Watch adding_watch;
  for (std::int64_t next = 16;
       reached < kAgreement && next <= kMostPermutations; next *= 2) {
    for (; count < next; ++count) add_permutation(all, count, sums);
    reached = rank_correlation(exact, sums);
  }
  const double adding = adding_watch.seconds();
  std::vector<std::int64_t> rows(exact.size());
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  const double sum = std::accumulate(exact.begin(), exact.end(), 0.0);
  return {{"points", points},
          {"exact_s", exact_seconds},
          {"permutation_s", asking},
          {"permutations", count},
          {"rank_correlation", reached},
          {"asking_s", asking * static_cast<double>(count)},
          {"adding_s", adding},
          {"efficiency_error", std::abs(sum - utility(all, rows))}};
}

}  // namespace weft::market_bench
