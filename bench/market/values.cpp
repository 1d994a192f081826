// What values are good for: which examples to drop, and who earns what.
#include <algorithm>

#include "bench/market/measure.h"
#include "bench/market/points.h"

#include "weft/base/philox.h"

namespace weft::market_bench {
namespace {

constexpr std::int64_t kNeighbours = 10;
constexpr int kSteps = 10;  // of removal, up to half
constexpr double kNoise = 0.15;
constexpr int kCurators = 5;

// Some labels become others, the same ones each time.
void add_noise(std::vector<std::int32_t>& labels, std::size_t first,
               std::size_t last, double rate, std::int32_t classes) {
  for (std::size_t i = first; i < last; ++i) {
    const auto words = philox4x32({static_cast<std::uint32_t>(i), 0, 0, 0}, 7);
    if (static_cast<double>(words[0]) / 4294967296.0 >= rate) continue;
    labels[i] = static_cast<std::int32_t>(
        (labels[i] + 1 + words[1] % static_cast<std::uint32_t>(classes - 1)) %
        static_cast<std::uint32_t>(classes));
  }
}

// How many test points their nearest neighbours get right, by majority.
double accuracy(const market::Points& train, const market::Points& test,
                const std::vector<std::int64_t>& rows, std::int32_t classes) {
  market::Points kept{.values = {}, .labels = {}, .width = train.width};
  for (const std::int64_t row : rows) {
    const auto begin = train.values.begin() + row * train.width;
    kept.values.insert(kept.values.end(), begin, begin + train.width);
    kept.labels.push_back(train.labels[static_cast<std::size_t>(row)]);
  }
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < std::ssize(test.labels); ++i) {
    std::vector<std::pair<float, std::int32_t>> near;
    for (std::size_t j = 0; j < kept.labels.size(); ++j) {
      float sum = 0;
      for (std::int64_t k = 0; k < train.width; ++k) {
        const float d =
            kept.values[j * static_cast<std::size_t>(train.width) +
                        static_cast<std::size_t>(k)] -
            test.values[static_cast<std::size_t>(i * train.width + k)];
        sum += d * d;
      }
      near.emplace_back(sum, kept.labels[j]);
    }
    std::partial_sort(near.begin(), near.begin() + kNeighbours, near.end());
    std::vector<int> votes(static_cast<std::size_t>(classes));
    for (int j = 0; j < kNeighbours; ++j) {
      ++votes[static_cast<std::size_t>(
          near[static_cast<std::size_t>(j)].second)];
    }
    const auto winner = std::max_element(votes.begin(), votes.end());
    right += winner - votes.begin() == test.labels[static_cast<std::size_t>(i)]
                 ? 1
                 : 0;
  }
  return static_cast<double>(right) /
         static_cast<double>(std::ssize(test.labels));
}

// Points of accuracy as more of the rows are dropped from the front.
Told removal(const market::Points& train, const market::Points& test,
             const std::vector<std::int64_t>& order, std::int32_t classes) {
  Told points = Told::array();
  for (int step = 0; step <= kSteps; ++step) {
    const std::size_t dropped =
        order.size() / 2 * static_cast<std::size_t>(step) / kSteps;
    points.push_back(
        {static_cast<double>(dropped) / static_cast<double>(order.size()),
         accuracy(train, test,
                  {order.begin() + static_cast<std::ptrdiff_t>(dropped),
                   order.end()},
                  classes)});
  }
  return points;
}

}  // namespace

Told measure_values(const std::string& data, const std::string& folder,
                    std::int64_t points) {
  // Points are valued by one part of the test set, and judged by another.
  TwoParts parts = two_parts(data, folder, points, 400);
  market::Points valued_by = parts.test;
  market::Points judged_by = parts.test;
  const auto half = static_cast<std::ptrdiff_t>(parts.test.labels.size() / 2);
  valued_by.labels.resize(static_cast<std::size_t>(half));
  valued_by.values.resize(static_cast<std::size_t>(half * parts.test.width));
  judged_by.labels.erase(judged_by.labels.begin(),
                         judged_by.labels.begin() + half);
  judged_by.values.erase(judged_by.values.begin(),
                         judged_by.values.begin() + half * parts.test.width);
  const std::int32_t classes = 1 + *std::max_element(parts.train.labels.begin(),
                                                     parts.train.labels.end());
  market::Points noisy = parts.train;
  add_noise(noisy.labels, 0, noisy.labels.size(), kNoise, classes);
  const auto values = market::knn_shapley(noisy.view(), valued_by.view());
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), std::int64_t{0});
  Told told;
  told["at_random"] = removal(noisy, judged_by, order, classes);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) {
    return values[static_cast<std::size_t>(a)] <
           values[static_cast<std::size_t>(b)];
  });
  told["lowest_first"] = removal(noisy, judged_by, order, classes);
  std::reverse(order.begin(), order.end());
  told["highest_first"] = removal(noisy, judged_by, order, classes);

  // Curators of equal shards, of which each has more noise than the one before.
  market::Points mixed = parts.train;
  const std::size_t size = mixed.labels.size() / kCurators;
  for (int i = 0; i < kCurators; ++i) {
    const auto first = static_cast<std::size_t>(i) * size;
    add_noise(mixed.labels, first, first + size, 0.15 * i, classes);
  }
  const auto earned = market::knn_shapley(mixed.view(), valued_by.view());
  Told earnings = Told::array();
  for (int i = 0; i < kCurators; ++i) {
    const auto first =
        static_cast<std::ptrdiff_t>(static_cast<std::size_t>(i) * size);
    earnings.push_back(
        {0.15 * i,
         std::max(0.0, std::accumulate(earned.begin() + first,
                                       earned.begin() + first +
                                           static_cast<std::ptrdiff_t>(size),
                                       0.0))});
  }
  told["earnings"] = earnings;
  return told;
}

}  // namespace weft::market_bench
