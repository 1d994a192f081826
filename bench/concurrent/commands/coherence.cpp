// weft-concurrent-bench coherence --steps N --rounds R --work-units W: what the
// simulated machine predicts for two cores beside what two cores do, and what
// it predicts for up to 128.
//
// Four loads; a step is one operation and W dependent multiplications of work.
// What a step takes on one real core, less what its accesses cost on one
// simulated core, is charged to the simulation as work; the rest is prediction.
#include <algorithm>
#include <cstdint>
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/concurrent/command.h"

#include "weft/concurrent/backoff.h"
#include "weft/concurrent/cache_line.h"
#include "weft/concurrent/coherence/calibrate.h"
#include "weft/concurrent/coherence/simulated_memory.h"
#include "weft/concurrent/coherence/simulation.h"
#include "weft/concurrent/counter/multi_counter.h"
#include "weft/concurrent/queue/multi_queue.h"
#include "weft/concurrent/threads.h"

namespace weft {
namespace {

using namespace concurrent;
using Json = nlohmann::json;

// What comes between two accesses: real instructions, or their time.
struct Work {
  int units = 0;
  std::uint64_t ns = 0;

  template <class M>
  void run(std::uint64_t& state) const {
    if constexpr (std::is_same_v<M, RealMemory>) {
      for (int i = 0; i < units; ++i)
        state = state * 6364136223846793005U + 1442695040888963407U;
    } else {
      M::compute(ns);
    }
  }
};

// The loads: made for some threads and steps of each; step() is one operation.

template <class M>
class FetchAdd {
 public:
  static constexpr const char* kName = "fetch-and-add counter";
  FetchAdd(int /*threads*/, int /*steps*/) {}
  auto handle(int /*thread*/) {
    return [this] { return count_->fetch_add(1); };
  }

 private:
  CacheAligned<typename M::template Atomic<std::uint64_t>> count_;
};

template <class M>
class Counter {
 public:
  static constexpr const char* kName = "MultiCounter";
  Counter(int threads, int /*steps*/)
      : counter_(8 * static_cast<std::uint32_t>(threads)) {}
  auto handle(int thread) {
    return [this, random = FastRandom(
                      1, static_cast<std::uint64_t>(thread))]() mutable {
      return counter_.increment(random);
    };
  }

 private:
  MultiCounter<M> counter_;
};

// The exact scheduler: tasks in order behind one head.
template <class M>
class Head {
 public:
  static constexpr const char* kName = "array with a fetch-and-add head";
  Head(int threads, int steps)
      : tasks_(static_cast<std::size_t>(threads) *
               static_cast<std::size_t>(steps)) {}
  auto handle(int /*thread*/) {
    return [this] {
      const std::uint64_t task = head_->fetch_add(1);
      tasks_[task].store(1, std::memory_order_release);
      return task;
    };
  }

 private:
  CacheAligned<typename M::template Atomic<std::uint64_t>> head_;
  std::vector<typename M::template Atomic<std::uint32_t>> tasks_;
};

// The hold model: a pop, and a push of a later key.
template <class M>
class Queue {
 public:
  static constexpr const char* kName = "MultiQueue";
  Queue(int threads, int /*steps*/)
      : queue_({.queues = 4 * threads, .threads = threads}) {
    FastRandom random(1, 0);
    auto handle = queue_.handle(0);
    for (int i = 0; i < 4 * threads * 256; ++i)
      handle.push({random() >> 32U, 0});
  }
  auto handle(int thread) {
    return
        [handle = queue_.handle(thread),
         random = FastRandom(2, static_cast<std::uint64_t>(thread))]() mutable {
          auto item = handle.pop();
          while (!item) item = handle.pop();
          handle.push({item->key + (random() >> 32U), 0});
          return item->key;
        };
  }

 private:
  MultiQueue<std::uint64_t, std::uint64_t, M> queue_;
};

volatile std::uint64_t sink;  // keeps the work

template <class M, template <class> class Load>
void run_thread(Load<M>& load, int thread, int steps, const Work& work) {
  auto step = load.handle(thread);
  std::uint64_t state = 0;
  for (int i = 0; i < steps; ++i) {
    state += step();
    work.run<M>(state);
  }
  sink = state;
}

// Nanoseconds per step of each thread.
template <template <class> class Load>
double real(int threads, int steps, const Work& work) {
  Load<RealMemory> load(threads, steps);
  std::atomic<int> ready{0};
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times(
      static_cast<std::size_t>(threads));
  run_threads(threads, [&](int thread) {
    pin_to_core(thread);
    ++ready;
    Backoff<RealMemory> backoff;
    while (ready.load() < threads) backoff();
    auto& [start, end] = times[static_cast<std::size_t>(thread)];
    start = RealMemory::nanoseconds();
    run_thread<RealMemory, Load>(load, thread, steps, work);
    end = RealMemory::nanoseconds();
  });
  std::uint64_t start = times[0].first;
  std::uint64_t end = 0;
  for (const auto& [began, ended] : times) {
    start = std::min(start, began);
    end = std::max(end, ended);
  }
  return static_cast<double>(end - start) / steps;
}

template <template <class> class Load>
double simulated(const CoherenceCosts& costs, int cores, int steps,
                 const Work& work) {
  Load<SimulatedMemory> load(cores, steps);
  Simulation simulation({.costs = costs, .cores = cores});
  simulation.run(cores, [&](int thread) {
    run_thread<SimulatedMemory, Load>(load, thread, steps, work);
  });
  return simulation.elapsed_ns() / steps;
}

// What a round takes when nothing else runs: other programs only add to it.
double quiet(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 4];
}

// The middle of several, spread over a second: a burst of other programs spoils
// one or two.
CoherenceCosts calibrated() {
  constexpr int kTimes = 9;
  std::vector<CoherenceCosts> found;
  for (int i = 0; i < kTimes; ++i) found.push_back(calibrate().costs);
  const auto middle = [&](double CoherenceCosts::*cost) {
    std::vector<double> values;
    for (const CoherenceCosts& costs : found) values.push_back(costs.*cost);
    std::sort(values.begin(), values.end());
    return values[kTimes / 2];
  };
  CoherenceCosts costs = found.front();
  for (double CoherenceCosts::*cost :
       {&CoherenceCosts::load_ns, &CoherenceCosts::atomic_ns,
        &CoherenceCosts::transfer_ns, &CoherenceCosts::handover_ns,
        &CoherenceCosts::tenure_ns})
    costs.*cost = middle(cost);
  costs.handover_ns = std::min(costs.handover_ns, costs.transfer_ns);
  return costs;
}

template <template <class> class Load>
Json compare(const CoherenceCosts& costs, int steps, int rounds, Work work) {
  std::vector<double> one;
  std::vector<double> two;
  for (int i = 0; i < rounds; ++i) {
    one.push_back(real<Load>(1, steps, work));
    two.push_back(real<Load>(2, steps, work));
  }
  constexpr int kSimulated = 2000;
  const double accesses = simulated<Load>(costs, 1, kSimulated, {});
  work.ns = static_cast<std::uint64_t>(std::max(0.0, quiet(one) - accesses));
  Json scaling = Json::array();
  for (const int cores : {1, 2, 4, 8, 16, 32, 48, 72, 96, 128})
    scaling.push_back(
        {cores,
         1000 * cores / simulated<Load>(costs, cores, kSimulated, work)});
  return {{"name", Load<RealMemory>::kName},
          {"work_ns", work.ns},
          {"real_1_ns", quiet(one)},
          {"real_2_ns", quiet(two)},
          {"real_2_low_ns", *std::min_element(two.begin(), two.end())},
          {"real_2_high_ns", *std::max_element(two.begin(), two.end())},
          {"simulated_2_ns", simulated<Load>(costs, 2, 20000, work)},
          {"scaling", scaling}};  // steps per microsecond
}

void coherence(const bench::WorkerOptions& options) {
  const auto steps = static_cast<int>(options.integer("steps"));
  const auto rounds = static_cast<int>(options.integer("rounds"));
  const Work work{.units = static_cast<int>(options.integer("work-units"))};
  const CoherenceCosts costs = calibrated();
  const Json result{{"costs",
                     {{"load", costs.load_ns},
                      {"atomic", costs.atomic_ns},
                      {"transfer", costs.transfer_ns},
                      {"handover", costs.handover_ns},
                      {"tenure", costs.tenure_ns}}},
                    {"loads",
                     {compare<FetchAdd>(costs, steps, rounds, work),
                      compare<Counter>(costs, steps, rounds, work),
                      compare<Head>(costs, steps, rounds, work),
                      compare<Queue>(costs, steps, rounds, work)}}};
  fmt::print("{}\n", result.dump());
}

}  // namespace

void register_concurrent_coherence(ConcurrentCommandRegistry& registry) {
  registry.add({"coherence", coherence});
}

}  // namespace weft
