#include "weft/concurrent/coherence/calibrate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <pthread.h>
#include <sched.h>
#include <utility>
#include <vector>

#include "weft/base/error.h"
#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/memory.h"
#include "weft/concurrent/random.h"
#include "weft/concurrent/threads.h"

namespace weft::concurrent {
namespace {

using Word = CacheAligned<std::atomic<std::uint64_t>>;

// An odd number, so that the median is one of the rounds.
constexpr int kRounds = 41;
constexpr int kUpdates = 4000;
constexpr std::uint32_t kWords = 16;
// Dependent multiplications: longer than a tenure, up to about a transfer; and
// longer than a core looks ahead.
constexpr std::array kRests = {20, 35, 50, 75};
constexpr int kLongRest = 60;

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

// What a thread does again and again: an update, and dependent multiplications.
struct Load {
  int rest = 0;
  std::uint32_t words = 1;    // one of which is drawn each time
  bool is_chained = false;    // the draw depends on the update before
  bool loads_before = false;  // the update depends on a load of the word
};

constexpr Load kTight{};
constexpr Load kDrawn{.rest = kLongRest, .words = kWords};
constexpr Load kChained{.rest = kLongRest, .words = kWords, .is_chained = true};
constexpr Load kLoaded{.rest = kLongRest,
                       .words = kWords,
                       .is_chained = true,
                       .loads_before = true};

volatile std::uint64_t nothing = 0;  // as no compiler knows

// Nanoseconds a round.
double time_load(const Load& load, int self, std::array<Word, kWords>& words) {
  FastRandom random(1, static_cast<std::uint64_t>(self));
  const std::uint64_t zero = nothing;
  std::uint64_t state = 1;
  const std::uint64_t start = RealMemory::nanoseconds();
  for (int i = 0; i < kUpdates; ++i) {
    // Adds nothing, but only once the state is known.
    std::uint64_t place = random.below(load.words);
    if (load.is_chained) place += state & zero;
    if (load.loads_before)
      place += words[place]->load(std::memory_order_relaxed) & zero;
    state += words[place]->fetch_add(1);
    // Each multiplication needs the one before it (Knuth's constants), so that
    // they take their full time.
    for (int k = 0; k < load.rest; ++k)
      state = state * 6364136223846793005U + 1442695040888963407U;
  }
  const std::uint64_t end = RealMemory::nanoseconds();
  words[0]->fetch_add(state & 1U);  // keeps the rest
  return static_cast<double>(end - start) / kUpdates;
}

// The same of two threads, which both call it and start together.
class Together {
 public:
  double time(const Load& load, int self) {
    // The counter never goes back: each meeting is over when both have added
    // theirs.
    const std::uint64_t target = (ready_->fetch_add(1) / 2 + 1) * 2;
    Backoff<RealMemory> backoff;
    while (ready_->load(std::memory_order_acquire) < target) backoff();
    return time_load(load, self, words_);
  }

 private:
  Word ready_;
  std::array<Word, kWords> words_;
};

// What a line costs that comes from the other core, where every second does.
double transfer(const LoadTimes& times, double at) {
  return 2 * (quantile(times.together, at) - quantile(times.alone, 0.5));
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
  CalibrationTimes times;
  times.rested.resize(kRests.size());
  std::vector<std::pair<Load, LoadTimes*>> all = {{kTight, &times.tight},
                                                  {kDrawn, &times.drawn},
                                                  {kChained, &times.chained},
                                                  {kLoaded, &times.loaded}};
  for (std::size_t i = 0; i < kRests.size(); ++i)
    all.push_back({{.rest = kRests[i]}, &times.rested[i]});
  CoherenceCosts costs;
  std::array<std::vector<std::vector<double>>, 2> sides;
  Together together;
  run_threads(2, [&](int self) {
    // Threads that moved would bring their lines along.
    pin_to_core(self);
    auto& own = sides[static_cast<std::size_t>(self)];
    own.resize(all.size());
    for (int i = 0; i < kRounds; ++i)
      for (std::size_t n = 0; n < all.size(); ++n)
        own[n].push_back(together.time(all[n].first, self));
    if (self != 0) return;
    // The other thread has ended by now, or is about to, and touches none of
    // these words.
    measure_alone(costs);
    std::array<Word, kWords> words;
    for (int i = 0; i < kRounds; ++i)
      for (const auto& [load, found] : all)
        found->alone.push_back(time_load(load, 0, words));
  });
  for (const auto& side : sides)
    for (std::size_t n = 0; n < all.size(); ++n)
      all[n].second->together.insert(all[n].second->together.end(),
                                     side[n].begin(), side[n].end());
  return calibration_of(times, costs);
}

Calibration calibration_of(const CalibrationTimes& times,
                           const CoherenceCosts& alone) {
  Calibration result{.costs = alone};
  CoherenceCosts& costs = result.costs;
  costs.transfer_ns = transfer(times.chained, 0.5);
  // Threads that other work keeps from running at once take turns on their
  // lines, which then seem to travel for nothing.
  if (costs.transfer_ns <= 0)
    throw Error(ErrorCode::kUnavailable, "calibrate",
                "two threads together were as fast as one alone, so they did "
                "not run at the same time")
        .hint("calibrate where no other work runs on these cores");
  result.transfer_low_ns = std::max(0.0, transfer(times.chained, 0.25));
  result.transfer_high_ns = transfer(times.chained, 0.75);
  costs.ahead_ns = std::clamp(costs.transfer_ns - transfer(times.drawn, 0.5),
                              0.0, costs.transfer_ns);
  // An update that needed a transfer of its own would double it.
  costs.migrates = transfer(times.loaded, 0.5) < 1.5 * costs.transfer_ns;
  // Cores that rest longer than their tenure update the word once each time
  // that they have it, so half of what that takes is no less than a line's
  // turn. Some rests make requests collide, which takes longer.
  double turn_ns = std::numeric_limits<double>::infinity();
  for (const LoadTimes& rested : times.rested)
    turn_ns = std::min(turn_ns, quantile(rested.together, 0.5) / 2);
  // Those that do not rest update it once more for each atomic_ns of the
  // tenure. That is best put half an update below a whole number of them.
  result.contended_update_ns = quantile(times.tight.together, 0.5) / 2;
  const double more = std::round(turn_ns / result.contended_update_ns) - 1;
  costs.tenure_ns = std::max(0.0, more - 0.5) * costs.atomic_ns;
  costs.handover_ns = std::clamp(turn_ns - costs.atomic_ns - costs.tenure_ns,
                                 0.0, costs.transfer_ns);
  return result;
}

}  // namespace weft::concurrent
