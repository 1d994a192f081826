// The event simulator: jobs per second, on one core.
#include <benchmark/benchmark.h>

#include "bench/micro/benches.h"

#include "weft/base/philox.h"
#include "weft/simulate/simulator.h"

namespace weft::micro {
namespace {

constexpr int kDevices = 16;

// A layered graph: every job waits for two of the layer before, often on
// another processor.
void add_layers(Simulator& simulator, int jobs) {
  const RandomStream random{1};
  for (int job = 0; job < jobs; ++job) {
    const auto word = random.word(static_cast<std::uint64_t>(job));
    simulator.add_job({.resources = {job % kDevices},
                       .seconds = 1e-3 * static_cast<double>(1 + word % 8),
                       .priority = static_cast<int>(word >> 8) % 64});
    if (job < kDevices) continue;
    const int layer = job / kDevices * kDevices - kDevices;
    simulator.add_dependency(layer + job % kDevices, job);
    simulator.add_dependency(layer + static_cast<int>(word >> 16) % kDevices,
                             job);
  }
}

void simulate(benchmark::State& state, Queueing queueing) {
  const int jobs = static_cast<int>(state.range(0));
  Simulator simulator;
  for (int device = 0; device < kDevices; ++device) {
    simulator.add_resource({.queueing = queueing});
  }
  for (auto _ : state) {
    simulator.clear_jobs();
    add_layers(simulator, jobs);
    simulator.run();
    benchmark::DoNotOptimize(simulator.makespan());
  }
  state.SetItemsProcessed(state.iterations() * jobs);
}

}  // namespace

void register_simulate() {
  benchmark::RegisterBenchmark("simulate/first_come", simulate,
                               Queueing::kFirstCome)
      ->Arg(5000)
      ->Arg(200000);
  benchmark::RegisterBenchmark("simulate/priority", simulate,
                               Queueing::kPriority)
      ->Arg(5000);
}

}  // namespace weft::micro
