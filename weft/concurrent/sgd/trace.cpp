#include "weft/concurrent/sgd/trace.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace weft::concurrent {
namespace {

// How many of the sorted `moments` are before this one.
std::uint64_t count_before(const std::vector<std::uint64_t>& moments,
                           std::uint64_t moment) {
  return static_cast<std::uint64_t>(
      std::lower_bound(moments.begin(), moments.end(), moment) -
      moments.begin());
}

// The most in any window of `width` iterations with more than `width` later
// starts before their end.
std::uint64_t most_bad_of(const std::vector<std::uint64_t>& starts_within,
                          std::uint64_t width) {
  std::uint64_t bad = 0;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < starts_within.size(); ++i) {
    bad += starts_within[i] > width ? 1 : 0;
    if (i >= width) bad -= starts_within[i - width] > width ? 1 : 0;
    most = std::max(most, bad);
  }
  return most;
}

// The iteration at place p counts for each t with p - starts <= t < p: a sum
// over the differences of these ranges.
std::uint64_t worst_sum_of(const std::vector<std::uint64_t>& starts_within) {
  std::vector<std::int64_t> change(starts_within.size() + 1, 0);
  for (std::size_t p = 0; p < starts_within.size(); ++p) {
    ++change[p - std::min<std::size_t>(p, starts_within[p])];
    --change[p];
  }
  std::int64_t sum = 0;
  std::int64_t worst = 0;
  for (const std::int64_t each : change) {
    sum += each;
    worst = std::max(worst, sum);
  }
  return static_cast<std::uint64_t>(worst);
}

}  // namespace

bool DelayStatistics::lemma_holds(int threads) const {
  const auto n = static_cast<double>(threads);
  return tau_avg <= 2 * n && static_cast<double>(most_bad) <= n &&
         static_cast<double>(worst_sum) <= sum_bound + n;
}

DelayStatistics delays_of(std::span<const IterationTrace> trace, int threads) {
  std::vector<IterationTrace> by_start(trace.begin(), trace.end());
  std::sort(by_start.begin(), by_start.end(),
            [](const IterationTrace& a, const IterationTrace& b) {
              return a.start != b.start ? a.start < b.start
                                        : a.iteration < b.iteration;
            });
  std::vector<std::uint64_t> starts;
  std::vector<std::uint64_t> ends;
  for (const IterationTrace& each : by_start) {
    starts.push_back(each.start);
    ends.push_back(each.end);
  }
  std::sort(ends.begin(), ends.end());
  DelayStatistics result;
  result.iterations = trace.size();
  std::vector<std::uint64_t> starts_within;
  double sum = 0;
  for (std::size_t p = 0; p < by_start.size(); ++p) {
    const std::uint64_t begun = count_before(starts, by_start[p].end);
    const std::uint64_t over = count_before(ends, by_start[p].start);
    // A real clock may stand still for an iteration, which then counts as none.
    const std::uint64_t overlapped = begun > over ? begun - over - 1 : 0;
    starts_within.push_back(begun > p ? begun - p - 1 : 0);
    result.tau_max = std::max(result.tau_max, overlapped);
    result.most_starts = std::max(result.most_starts, starts_within.back());
    sum += static_cast<double>(overlapped);
  }
  if (trace.empty()) return result;
  result.tau_avg = sum / static_cast<double>(trace.size());
  const auto n = static_cast<std::uint64_t>(threads);
  for (std::uint64_t width = n; width <= result.most_starts; width *= 2)
    result.most_bad =
        std::max(result.most_bad, most_bad_of(starts_within, width));
  result.worst_sum = worst_sum_of(starts_within);
  result.sum_bound =
      2 * std::sqrt(static_cast<double>(result.most_starts) * threads);
  return result;
}

}  // namespace weft::concurrent
