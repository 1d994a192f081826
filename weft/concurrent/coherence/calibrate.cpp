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
constexpr int kUpdates = 4000;
constexpr int kShortRest = 20;  // multiplications: longer than a tenure
constexpr int kLongRest = 48;   // about as long as a transfer

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

// Nanoseconds for an update and `rest` dependent multiplications.
double time_updates(int rest, Word& word) {
  const std::uint64_t start = RealMemory::nanoseconds();
  std::uint64_t state = 1;
  for (int i = 0; i < kUpdates; ++i) {
    state += word->fetch_add(1);
    for (int k = 0; k < rest; ++k) state = state * 6364136223846793005U + 1;
  }
  const std::uint64_t end = RealMemory::nanoseconds();
  word->fetch_add(state & 1U);  // keeps the rest
  return static_cast<double>(end - start) / kUpdates;
}

// The same of two threads, which both call it and start together.
class Together {
 public:
  double update(int rest) {
    const std::uint64_t target = (ready_->fetch_add(1) / 2 + 1) * 2;
    Backoff<RealMemory> backoff;
    while (ready_->load(std::memory_order_acquire) < target) backoff();
    return time_updates(rest, word_);
  }

 private:
  Word ready_;
  Word word_;
};

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
  // Of one core alone, and of two: with long rests, short ones, and none.
  std::vector<double> alone;
  std::array<std::vector<double>, 2> apart;
  std::array<std::vector<double>, 2> close;
  std::array<std::vector<double>, 2> tight;
  Together together;
  run_threads(2, [&](int self) {
    pin_to_core(self);
    const auto side = static_cast<std::size_t>(self);
    for (int i = 0; i < kRounds; ++i) {
      apart[side].push_back(together.update(kLongRest));
      close[side].push_back(together.update(kShortRest));
      tight[side].push_back(together.update(0));
    }
    if (self != 0) return;
    measure_alone(result.costs);
    Word word;
    for (int i = 0; i < kRounds; ++i)
      alone.push_back(time_updates(kLongRest, word));
  });

  const auto both = [](const std::array<std::vector<double>, 2>& sides) {
    std::vector<double> all = sides[0];
    all.insert(all.end(), sides[1].begin(), sides[1].end());
    return all;
  };
  // Between two updates of one core the other has had the word, and nobody
  // waits for it longer than a transfer takes.
  const auto transfer = [&](double at) {
    return std::max(0.0, quantile(both(apart), at) - quantile(alone, 0.5));
  };
  CoherenceCosts& costs = result.costs;
  costs.transfer_ns = transfer(0.5);
  result.transfer_low_ns = transfer(0.25);
  result.transfer_high_ns = transfer(0.75);
  // Cores that rest longer than their tenure, but not long, update the word
  // once each time that they have it; those that do not rest, once more for
  // each atomic_ns of the tenure. That is best put half an update below a whole
  // number of them.
  const double turn_ns = quantile(both(close), 0.5) / 2;
  result.contended_update_ns = quantile(both(tight), 0.5) / 2;
  const double more = std::round(turn_ns / result.contended_update_ns) - 1;
  costs.tenure_ns = std::max(0.0, more - 0.5) * costs.atomic_ns;
  costs.handover_ns = std::clamp(turn_ns - costs.atomic_ns - costs.tenure_ns,
                                 0.0, costs.transfer_ns);
  return result;
}

}  // namespace weft::concurrent
