// weft-concurrent-bench coherence --steps N --rounds R --work-units W: what the
// simulated machine predicts for two cores beside what two cores do, and what
// it predicts for up to 128.
//
// Four loads; a step is one operation and W dependent multiplications of work.
// What a step takes on one real core, less what its accesses cost on one
// simulated core, is charged to the simulation as work; the rest is prediction.
// Costs are calibrated anew in each round, next to what they shall predict, as
// they drift by a factor of two within minutes.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/core.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/concurrent/command.h"
#include "bench/concurrent/costs.h"

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

double quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(
      at * static_cast<double>(values.size() - 1))];
}

// A measurement keeps a low quantile of its repetitions, since other programs
// only add time.
constexpr int kRepetitions = 9;
constexpr double kQuiet = 0.25;

struct Round {
  CoherenceCosts costs;
  double work_ns;
  double real_1_ns;
  double real_2_ns;
  double simulated_2_ns;
};

template <template <class> class Load>
double own_work(const CoherenceCosts& costs, double step_ns) {
  constexpr int kSteps = 2000;
  return std::max(0.0, step_ns - simulated<Load>(costs, 1, kSteps, {}));
}

template <template <class> class Load>
Round compare(const CoherenceCosts& costs, int steps, Work work) {
  std::vector<double> one;
  std::vector<double> two;
  for (int i = 0; i < kRepetitions; ++i) {
    one.push_back(real<Load>(1, steps, work));
    two.push_back(real<Load>(2, steps, work));
  }
  Round round{.costs = costs,
              .work_ns = own_work<Load>(costs, quantile(one, kQuiet)),
              .real_1_ns = quantile(one, kQuiet),
              .real_2_ns = quantile(two, kQuiet),
              .simulated_2_ns = 0};
  constexpr int kSteps = 20000;
  work.ns = static_cast<std::uint64_t>(std::llround(round.work_ns));
  round.simulated_2_ns = simulated<Load>(costs, 2, kSteps, work);
  return round;
}

// One figure of each round.
template <class Figure>
std::vector<double> each(const std::vector<Round>& rounds,
                         const Figure& figure) {
  std::vector<double> values;
  for (const Round& round : rounds) values.push_back(figure(round));
  return values;
}

CoherenceCosts middle_costs(const std::vector<Round>& rounds) {
  CoherenceCosts costs = rounds.front().costs;
  for (double CoherenceCosts::*cost :
       {&CoherenceCosts::load_ns, &CoherenceCosts::atomic_ns,
        &CoherenceCosts::transfer_ns, &CoherenceCosts::ahead_ns,
        &CoherenceCosts::handover_ns, &CoherenceCosts::tenure_ns})
    costs.*cost = quantile(
        each(rounds, [&](const Round& round) { return round.costs.*cost; }),
        0.5);
  costs.handover_ns = std::min(costs.handover_ns, costs.transfer_ns);
  costs.migrates = quantile(each(rounds,
                                 [](const Round& round) {
                                   return round.costs.migrates ? 1.0 : 0.0;
                                 }),
                            0.5) > 0.5;
  return costs;
}

template <template <class> class Load>
Json report(const std::vector<Round>& rounds) {
  const auto middle = [&](double Round::*figure) {
    return quantile(
        each(rounds, [&](const Round& round) { return round.*figure; }), 0.5);
  };
  const std::vector<double> ratios = each(rounds, [](const Round& round) {
    return round.simulated_2_ns / round.real_2_ns;
  });
  const std::vector<double> real_2 =
      each(rounds, [](const Round& round) { return round.real_2_ns; });
  const Work work{
      .ns = static_cast<std::uint64_t>(std::llround(middle(&Round::work_ns)))};
  Json scaling = Json::array();
  for (const int cores : {1, 2, 4, 8, 16, 32, 48, 72, 96, 128})
    scaling.push_back(
        {cores, 1000 * cores /
                    simulated<Load>(middle_costs(rounds), cores, 2000, work)});
  return {{"name", Load<RealMemory>::kName},
          {"real_1_ns", middle(&Round::real_1_ns)},
          {"real_2_ns", middle(&Round::real_2_ns)},
          {"real_2_low_ns", quantile(real_2, 0)},
          {"real_2_high_ns", quantile(real_2, 1)},
          {"simulated_2_ns", middle(&Round::simulated_2_ns)},
          {"ratio", quantile(ratios, 0.5)},
          {"ratio_low", quantile(ratios, 0.25)},
          {"ratio_high", quantile(ratios, 0.75)},
          {"scaling", scaling}};  // steps per microsecond
}

void coherence(const bench::WorkerOptions& options) {
  const auto steps = static_cast<int>(options.integer("steps"));
  const auto rounds = static_cast<int>(options.integer("rounds"));
  const Work work{.units = static_cast<int>(options.integer("work-units"))};
  std::array<std::vector<Round>, 4> found;
  for (int i = 0; i < rounds; ++i) {
    const CoherenceCosts costs = calibrate().costs;
    found[0].push_back(compare<FetchAdd>(costs, steps, work));
    found[1].push_back(compare<Counter>(costs, steps, work));
    found[2].push_back(compare<Head>(costs, steps, work));
    found[3].push_back(compare<Queue>(costs, steps, work));
  }
  const CoherenceCosts costs = middle_costs(found[0]);
  const Json result{{"costs", bench::json_of(costs)},
                    {"loads",
                     {report<FetchAdd>(found[0]), report<Counter>(found[1]),
                      report<Head>(found[2]), report<Queue>(found[3])}}};
  fmt::print("{}\n", result.dump());
}

}  // namespace

void register_concurrent_coherence(ConcurrentCommandRegistry& registry) {
  registry.add({"coherence", coherence});
}

}  // namespace weft
