// weft-concurrent-bench transactions CLOCK --objects M --threads T --steps N:
// T threads share N transactions of array_updates.h. Serves `check` (the sum
// after a first block, and what it must be) and `run`; `counts` gives commits
// and aborts so far.
#include <atomic>

#include "bench/concurrent/array_updates.h"
#include "bench/concurrent/command.h"
#include "bench/worker/serve.h"

#include "weft/concurrent/threads.h"

namespace weft {
namespace {

using namespace concurrent;

void transactions(const bench::WorkerOptions& options) {
  const auto threads = static_cast<std::uint32_t>(options.integer("threads"));
  const auto steps = static_cast<std::uint64_t>(options.integer("steps"));
  bench::ArrayUpdates<RealMemory> array(
      bench::options_for(options.model, threads),
      static_cast<std::uint32_t>(options.integer("objects")));
  std::atomic<std::uint64_t> commits = 0;
  std::atomic<std::uint64_t> aborts = 0;
  std::uint64_t blocks = 0;
  const auto block = [&] {
    ++blocks;
    run_threads(static_cast<int>(threads), [&](int thread) {
      const bench::ArrayCounts counts = array.run(
          static_cast<std::uint64_t>(thread), steps / threads, blocks);
      commits += counts.commits;
      aborts += counts.aborts;
    });
    return static_cast<std::int64_t>(steps / threads * threads);
  };
  const auto counts = [&] {
    WEFT_CHECK(array.sum() == 2 * commits, "the array's sum is wrong");
    return bench::Json{{"commits", commits.load()}, {"aborts", aborts.load()}};
  };
  bench::serve({{"check",
                 [&] {
                   block();
                   counts();
                   return bench::Json{{"values", {array.sum()}}};
                 }},
                {"run", [&] { return bench::timed(block); }},
                {"counts", counts}},
               0);
}

}  // namespace

void register_concurrent_transactions(ConcurrentCommandRegistry& registry) {
  registry.add({"transactions", transactions});
}

}  // namespace weft
