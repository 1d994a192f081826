#include "weft/concurrent/coherence/calibrate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <pthread.h>
#include <sched.h>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent {
namespace {

using Word = CacheAligned<std::atomic<std::uint64_t>>;

constexpr int kRounds = 41;
constexpr int kLines = 256;
constexpr int kUpdates = 4000;

// Fixed when the program starts: pinning narrows what a thread is told later.
std::vector<int> find_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::vector<int> result;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return result;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &allowed)) result.push_back(i);
  return result;
}

const std::vector<int>& cores() {
  static const std::vector<int> found = find_cores();
  return found;
}

double quantile(std::vector<double> values, double at) {
  const auto place =
      static_cast<std::size_t>(at * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(),
                   values.begin() + static_cast<std::ptrdiff_t>(place),
                   values.end());
  return values[place];
}

// Nanoseconds for each of `count` calls; the median of several rounds.
double per_call(int count, const std::function<void(int)>& many) {
  std::vector<double> rounds;
  for (int i = 0; i < kRounds; ++i) {
    const std::uint64_t start = RealMemory::nanoseconds();
    many(count);
    const std::uint64_t end = RealMemory::nanoseconds();
    rounds.push_back(static_cast<double>(end - start) / count);
  }
  return quantile(rounds, 0.5);
}

// What needs no other core.
void measure_alone(CoherenceCosts& costs) {
  Word word;
  costs.load_ns = per_call(kUpdates, [&](int count) {
    for (int i = 0; i < count; ++i) word->load(std::memory_order_acquire);
  });
  costs.atomic_ns = per_call(kUpdates, [&](int count) {
    for (int i = 0; i < count; ++i) word->fetch_add(1);
  });
  costs.pause_ns = per_call(200, [](int count) {
    for (int i = 0; i < count; ++i) RealMemory::pause();
  });
  costs.clock_ns = per_call(200, [](int count) {
    for (int i = 0; i < count; ++i) RealMemory::nanoseconds();
  });
  costs.yield_ns = per_call(50, [](int count) {
    for (int i = 0; i < count; ++i) RealMemory::yield();
  });
}

// Both threads call it; they take turns, one round of updates each.
std::vector<double> hand_lines_over(int self, Word& turn,
                                    std::vector<Word>& lines) {
  std::vector<double> rounds;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    Backoff<RealMemory> backoff;
    while (turn->load(std::memory_order_acquire) !=
           2 * i + static_cast<std::uint64_t>(self))
      backoff();
    const std::uint64_t start = RealMemory::nanoseconds();
    // Each address depends on the update before, or the core would fetch
    // several lines at once. (The words stay small, so the bit is 0.)
    std::size_t at = 0;
    for (int k = 0; k < kLines; ++k) {
      const std::uint64_t old = lines[at]->fetch_add(1);
      at = (5 * at + 1 + (old >> 63U)) % kLines;  // visits all of them
    }
    const std::uint64_t end = RealMemory::nanoseconds();
    turn->fetch_add(1);
    rounds.push_back(static_cast<double>(end - start) / kLines);
  }
  return rounds;
}

// Both threads call it, and start together.
double update_together(std::uint64_t round, Word& ready, Word& word) {
  ready->fetch_add(1);
  Backoff<RealMemory> backoff;
  while (ready->load(std::memory_order_acquire) < 2 * (round + 1)) backoff();
  const std::uint64_t start = RealMemory::nanoseconds();
  for (int i = 0; i < kUpdates; ++i) word->fetch_add(1);
  const std::uint64_t end = RealMemory::nanoseconds();
  return static_cast<double>(end - start) / (2 * kUpdates);
}

}  // namespace

void pin_to_core(int i) {
  const std::vector<int>& all = cores();
  cpu_set_t one;
  CPU_ZERO(&one);
  if (!all.empty())
    CPU_SET(all[static_cast<std::size_t>(i) % all.size()], &one);
  if (pthread_setaffinity_np(pthread_self(), sizeof one, &one) != 0)
    throw Error(ErrorCode::kUnavailable, "pin_to_core",
                "the system refuses to pin a thread to core {}", i);
}

Calibration calibrate() {
  if (cores().size() < 2)
    throw Error(ErrorCode::kUnavailable, "calibrate",
                "a transfer between cores takes two, and there is {}",
                cores().size())
        .hint("use the default CoherenceCosts");
  Calibration result;
  std::array<std::vector<double>, 2> transfers;
  std::array<std::vector<double>, 2> contended;
  Word turn;
  Word ready;
  Word word;
  std::vector<Word> lines(kLines);
  run_threads(2, [&](int self) {
    pin_to_core(self);
    const auto side = static_cast<std::size_t>(self);
    transfers[side] = hand_lines_over(self, turn, lines);
    for (std::uint64_t i = 0; i < kRounds; ++i)
      contended[side].push_back(update_together(i, ready, word));
    if (self == 0) measure_alone(result.costs);
  });

  std::vector<double> rounds;
  for (auto& side : transfers)  // the first rounds fetch from memory
    rounds.insert(rounds.end(), side.begin() + 2, side.end());
  const double atomic = result.costs.atomic_ns;
  const auto without_update = [&](double at) {
    return std::max(0.0, quantile(rounds, at) - atomic);
  };
  result.costs.transfer_ns = without_update(0.5);
  result.transfer_low_ns = without_update(0.25);
  result.transfer_high_ns = without_update(0.75);

  contended[0].insert(contended[0].end(), contended[1].begin(),
                      contended[1].end());
  result.contended_update_ns = quantile(contended[0], 0.5);
  // A core that has fetched the word updates it once, and n times more in its
  // tenure, which is best put at n - 1/2 updates: the rate then is
  // (1 + n) / (transfer + atomic + (n - 1/2) atomic).
  const double rate = 1 / result.contended_update_ns;
  const double share = rate * atomic;  // of the rate of one core alone
  const double most = 100;             // where contention costs next to nothing
  const double more =
      share < 1
          ? std::round((rate * (result.costs.transfer_ns + atomic / 2) - 1) /
                       (1 - share))
          : most;
  result.costs.tenure_ns = std::max(0.0, std::min(more, most) - 0.5) * atomic;
  return result;
}

}  // namespace weft::concurrent
