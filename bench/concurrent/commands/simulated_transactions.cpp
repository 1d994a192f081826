// weft-concurrent-bench simulated-transactions CLOCK --objects M --cores N
// --steps S --own-ns X --delta D --costs JSON: the same on a simulated machine:
// N threads, S transactions each, after as many to warm up. X is what a
// transaction takes beside its accesses. The costs are those that `calibrate`
// printed: they drift, so that runs which are compared must share them. Each
// attempt draws its objects anew.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bench/concurrent/array_updates.h"
#include "bench/concurrent/command.h"
#include "bench/concurrent/costs.h"

#include "weft/concurrent/coherence/simulated_memory.h"
#include "weft/concurrent/coherence/simulation.h"

namespace weft {
namespace {

using namespace concurrent;

void simulated_transactions(const bench::WorkerOptions& options) {
  const auto cores = static_cast<int>(options.integer("cores"));
  const auto steps = static_cast<std::uint64_t>(options.integer("steps"));
  const auto own_ns = static_cast<std::uint64_t>(options.integer("own-ns"));
  StmOptions choices =
      bench::options_for(options.model, static_cast<std::uint32_t>(cores));
  choices.delta = static_cast<std::uint64_t>(options.integer("delta"));
  bench::ArrayUpdates<SimulatedMemory> array(
      choices, static_cast<std::uint32_t>(options.integer("objects")));
  Simulation simulation({.costs = bench::costs_of(options.text("costs")),
                         .cores = cores,
                         .most_ns = 1e12});
  bench::ArrayCounts total;
  std::uint64_t runs = 0;
  const auto run = [&] {
    ++runs;
    total = {};
    simulation.run(cores, [&](int thread) {
      const bench::ArrayCounts counts = array.run_drawing_anew(
          static_cast<std::uint64_t>(thread), steps, runs, own_ns);
      total.commits += counts.commits;
      total.aborts += counts.aborts;
    });
  };
  run();
  run();
  WEFT_CHECK(array.sum() == 4 * total.commits, "the array's sum is wrong");
  fmt::print("{}\n", nlohmann::json{{"commits", total.commits},
                                    {"aborts", total.aborts},
                                    {"seconds", simulation.elapsed_ns() * 1e-9}}
                         .dump());
}

}  // namespace

void register_concurrent_simulated_transactions(
    ConcurrentCommandRegistry& registry) {
  registry.add({"simulated-transactions", simulated_transactions});
}

}  // namespace weft
