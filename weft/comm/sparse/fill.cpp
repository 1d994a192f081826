#include "weft/comm/sparse/fill.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft {
namespace {

// The size of the vector in which random contributions sum up to K items.
double support_of(const SparseWorkload& workload) {
  const double k = workload.items;
  const double all = workload.ranks * k;
  const double wanted = std::min(workload.result_items, all);
  double low = std::max(k, wanted);
  double high = static_cast<double>(workload.type.size);
  if (expected_items(high, k, workload.ranks) <= wanted) return high;
  // expected_items() grows with the size.
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (expected_items(middle, k, workload.ranks) < wanted ? low : high) = middle;
  }
  return high;
}

}  // namespace

double expected_items(double size, double items, double ranks) {
  if (items <= 0) return 0;
  if (items >= size) return size;
  // log1p and expm1 keep what is left of tiny densities.
  return -size * std::expm1(ranks * std::log1p(-items / size));
}

double gather_steps(int ranks) {
  return std::bit_width(static_cast<unsigned>(ranks) - 1);
}

Fill::Fill(const SparseWorkload& workload)
    : workload_(workload), support_(support_of(workload)) {}

double Fill::items(double ranks) const {
  return expected_items(support_, workload_.items, ranks);
}

double Fill::bytes(double ranks) const {
  const StreamType& type = workload_.type;
  return std::min(items(ranks) * static_cast<double>(type.pair_bytes()),
                  static_cast<double>(type.size * type.value_bytes()));
}

double Fill::part_items(double ranks, int parts) const {
  const double size = static_cast<double>(workload_.type.size) / parts;
  return std::min(size, items(ranks) * workload_.skew / parts);
}

double Fill::part_bytes(double ranks, int parts) const {
  const StreamType& type = workload_.type;
  const double values = static_cast<double>(type.size * type.value_bytes());
  return std::min(
      part_items(ranks, parts) * static_cast<double>(type.pair_bytes()),
      values / parts);
}

double Fill::gather_bytes() const {
  const int ranks = workload_.ranks;
  double sum = 0;
  for (int step = 1; step < ranks; step *= 2) {
    const int parts = std::min(step, ranks - step);
    sum += std::min(parts * part_bytes(ranks, ranks), bytes(ranks));
  }
  return sum;
}

// Two streams of `items` each.
double Fill::join_seconds(double items, double size) const {
  const StreamType& type = workload_.type;
  const SumRates& rates = workload_.rates;
  const double dense_at = size * static_cast<double>(type.value_bytes()) /
                          static_cast<double>(type.pair_bytes());
  if (items >= dense_at) return size * rates.add;
  if (2 * items >= dense_at) {
    return size * rates.clear + 2 * items * rates.scatter;
  }
  return 2 * items * rates.merge;
}

double Fill::doubling_seconds() const {
  const auto size = static_cast<double>(workload_.type.size);
  double seconds = 0;
  for (int joined = 1; joined < workload_.ranks; joined *= 2) {
    seconds += join_seconds(items(joined), size);
  }
  return seconds;
}

double Fill::tree_seconds(int ranks, int parts) const {
  const double size = static_cast<double>(workload_.type.size) / parts;
  double seconds = 0;
  for (double joined = 1; joined < ranks; joined *= 2) {
    seconds +=
        ranks / (2 * joined) * join_seconds(part_items(joined, parts), size);
  }
  return seconds;
}

}  // namespace weft
