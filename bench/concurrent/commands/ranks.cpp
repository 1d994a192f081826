// weft-concurrent-bench ranks --queues Q --stickiness S --choices C
// --resident N --steps T: the rank error of a MultiQueue on one thread, which
// pops an entry and pushes a later one in turns. Mean, 99th percentile and
// largest rank, how often the first one was passed over, and the mean of each
// tenth of the run.
#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "bench/concurrent/command.h"

#include "weft/concurrent/queue/multi_queue.h"
#include "weft/concurrent/queue/rank_log.h"

namespace weft {
namespace {

using namespace concurrent;

constexpr std::uint32_t kParts = 10;

// The smallest value that at most one in a hundred exceeds.
std::size_t percentile_99(const std::vector<std::uint64_t>& histogram) {
  std::size_t value = 0;
  while (RankLog::tail(histogram, value + 1) > 0.01) ++value;
  return value;
}

void ranks(const bench::WorkerOptions& options) {
  const auto resident = static_cast<std::uint32_t>(options.integer("resident"));
  const auto steps = static_cast<std::uint32_t>(options.integer("steps"));
  MultiQueue<std::uint32_t> queue(
      {.queues = static_cast<int>(options.integer("queues")),
       .stickiness = static_cast<int>(options.integer("stickiness")),
       .choices = static_cast<int>(options.integer("choices"))});
  auto handle = queue.handle(0);
  RankLog log(resident + steps);
  for (std::uint32_t key = 0; key < resident; ++key) {
    handle.push({key});
    log.pushed(key);
  }
  std::vector<double> parts(kParts, 0);
  for (std::uint32_t step = 0; step < steps; ++step) {
    const auto part =
        static_cast<std::size_t>(std::uint64_t{step} * kParts / steps);
    parts[part] += log.popped(handle.pop().value().key);
    handle.push({resident + step});
    log.pushed(resident + step);
  }
  for (double& part : parts) part *= double{kParts} / steps;
  fmt::print("{}\n",
             nlohmann::json{{"mean", RankLog::mean(log.ranks())},
                            {"p99", percentile_99(log.ranks())},
                            {"most", log.ranks().size() - 1},
                            {"overtaken", RankLog::mean(log.overtakings())},
                            {"over_time", parts}}
                 .dump());
}

}  // namespace

void register_concurrent_ranks(ConcurrentCommandRegistry& registry) {
  registry.add({"ranks", ranks});
}

}  // namespace weft
