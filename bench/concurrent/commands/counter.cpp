// weft-concurrent-bench counter --choices 1|2 --cells M --threads T
// --increments N --phases P: N increments by T threads in P phases, and after
// each what reads are off by (in cells), and the gap.
#include <cmath>
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bench/concurrent/command.h"

#include "weft/concurrent/counter/multi_counter.h"
#include "weft/concurrent/threads.h"

namespace weft {
namespace {

using namespace concurrent;
using Json = nlohmann::json;

struct Load {
  std::uint32_t cells;
  std::uint64_t threads;
  std::uint64_t increments;
  std::uint64_t phases;
};

template <class Counter>
Json measure(const Load& load) {
  Counter counter(load.cells);
  const std::uint64_t each = load.increments / load.phases / load.threads;
  Json phases = Json::array();
  for (std::uint64_t phase = 0; phase < load.phases; ++phase) {
    run_threads(static_cast<int>(load.threads), [&](int thread) {
      FastRandom random(phase, static_cast<std::uint64_t>(thread));
      for (std::uint64_t i = 0; i < each; ++i) counter.increment(random);
    });
    const std::uint64_t count = (phase + 1) * each * load.threads;
    WEFT_CHECK(counter.exact() == count, "an increment is lost");
    double sum = 0;
    double most = 0;
    for (std::uint32_t i = 0; i < load.cells; ++i) {
      const double error = std::abs(static_cast<double>(counter.value(i)) -
                                    static_cast<double>(count) / load.cells);
      sum += error;
      most = std::max(most, error);
    }
    phases.push_back({{"count", count},
                      {"mean", sum / load.cells},
                      {"most", most},
                      {"gap", counter.gap()}});
  }
  return {{"phases", phases}};
}

void counter(const bench::WorkerOptions& options) {
  const Load load{static_cast<std::uint32_t>(options.integer("cells")),
                  static_cast<std::uint64_t>(options.integer("threads")),
                  static_cast<std::uint64_t>(options.integer("increments")),
                  static_cast<std::uint64_t>(options.integer("phases"))};
  const Json found = options.integer("choices") == 1
                         ? measure<OneChoiceCounter<>>(load)
                         : measure<MultiCounter<>>(load);
  fmt::print("{}\n", found.dump());
}

}  // namespace

void register_concurrent_counter(ConcurrentCommandRegistry& registry) {
  registry.add({"counter", counter});
}

}  // namespace weft
