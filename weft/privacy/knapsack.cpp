#include "weft/privacy/knapsack.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace weft::privacy {

double greedy_value(std::span<const KnapsackItem> items, Knapsack knapsack) {
  const Knapsack empty = knapsack;
  double taken = 0;
  double best = 0;
  for (const auto& [size, value] : items) {
    if (!empty.has_room(size)) continue;
    best = std::max(best, value);
    if (!knapsack.has_room(size)) continue;
    knapsack.used += size;
    taken += value;
  }
  return std::max(taken, best);
}

double nearly_optimal_value(std::span<const KnapsackItem> items,
                            const Knapsack& knapsack, double loss) {
  std::vector<KnapsackItem> fitting;
  double most = 0;
  for (const KnapsackItem& item : items) {
    if (!knapsack.has_room(item.size)) continue;
    fitting.push_back(item);
    most = std::max(most, item.value);
  }
  if (fitting.empty()) return 0;
  // n values lose less than a unit each, which is `loss` of the largest at
  // most.
  const double unit = loss * most / static_cast<double>(fitting.size());
  // The least size for each sum of rounded values, and the true value then.
  struct Best {
    double size = std::numeric_limits<double>::infinity();
    double value = 0;
  };
  std::vector<Best> best = {{0, 0}};
  for (const auto& [size, value] : fitting) {
    const auto units = static_cast<std::size_t>(std::floor(value / unit));
    best.resize(best.size() + units);
    for (std::size_t sum = best.size(); sum-- > units;) {
      const Best& before = best[sum - units];
      if (before.size + size < best[sum].size)
        best[sum] = {before.size + size, before.value + value};
    }
  }
  double found = 0;
  for (const auto& [size, value] : best)
    if (knapsack.has_room(size)) found = std::max(found, value);
  return found;
}

}  // namespace weft::privacy
