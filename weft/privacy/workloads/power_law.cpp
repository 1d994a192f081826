// Tasks whose epsilons and numbers of blocks have a heavy tail each, as
// resources in clusters do, with mechanisms of all kinds: what can be simulated
// without a trace.
#include <cmath>

#include "weft/privacy/draws.h"
#include "weft/privacy/mechanism.h"
#include "weft/privacy/streaming_settings.h"

namespace weft {
namespace {

using namespace privacy;

std::string drawn_mechanism(double epsilon, Draws& draws) {
  switch (draws.below(3)) {
    case 0:
      return fmt::format("laplace(noise={})", 1 / epsilon);
    // (epsilon, 1e-6) each (Dwork and Roth, 2014, theorem A.1).
    case 1:
      return fmt::format("gaussian(noise={})",
                         std::sqrt(2 * std::log(1.25e6)) / epsilon);
    default:
      return fmt::format("subsampled_gaussian(noise={}, rate=0.01, steps=1000)",
                         std::max(0.5, 2 / epsilon));
  }
}

Workload make_power_law(const Options& options, std::uint64_t seed) {
  Workload workload = streaming_workload(options);
  Draws draws(seed, 0);
  const auto pareto = [&](double least) {
    return least *
           std::pow(draws.uniform(), -1 / option<double>(options, "tail"));
  };
  double time = 0;
  while (true) {
    time -= std::log(draws.uniform()) / option<double>(options, "tasks");
    if (time > streaming_time(options)) return workload;
    const double blocks = std::floor(pareto(1));
    const double epsilon = pareto(option<double>(options, "epsilon"));
    if (blocks > option<double>(options, "most_blocks")) continue;
    workload.tasks.push_back(
        {time, static_cast<std::size_t>(blocks),
         renyi_curve(parse_mechanisms(drawn_mechanism(epsilon, draws)),
                     budget_orders())});
  }
}

}  // namespace

void register_privacy_workload_power_law(WorkloadRegistry& workloads) {
  std::vector<OptionSpec> options = {
      {"tasks",
       100.0,
       "that come in a unit of time, on average",
       {.least = 0, .is_open_below = true}},
      {"tail",
       1.0,
       "the exponent of both laws",
       {.least = 0, .is_open_below = true}},
      {"epsilon", 0.1, "the least", {.least = 0, .is_open_below = true}},
      {"most_blocks", 100.0, "who asks of more is left out", {.least = 1}}};
  const std::vector<OptionSpec> streaming = streaming_options({});
  options.insert(options.end(), streaming.begin(), streaming.end());
  workloads.add({.name = "power_law",
                 .summary = "epsilons and numbers of blocks with heavy tails",
                 .options = std::move(options),
                 .make = make_power_law});
}

}  // namespace weft
