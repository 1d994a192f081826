// weft-concurrent-bench transactions CLOCK --hardware auto|off --policy
// NAME|none --locking commit|encounter --draws once|anew --objects M --threads
// T
// --steps N: T threads share N transactions of array_updates.h. A policy
// decides conflicts where there is one, and needs locks that are taken at the
// first write (encounter). Serves `check` (the sum after a first block, and
// what it must be) and `run`; `counts` gives commits, how many of them were in
// hardware, and aborts so far.
//
// In software each object has its lock beside it. In hardware locks are hardly
// ever looked at, so that objects do best without: half the memory.
#include <atomic>

#include "bench/concurrent/array_updates.h"
#include "bench/concurrent/command.h"
#include "bench/worker/serve.h"

#include "weft/concurrent/conflict/policy_registry.h"
#include "weft/concurrent/threads.h"

namespace weft {
namespace {

using namespace concurrent;

template <class Cell>
void update_arrays(const bench::WorkerOptions& options,
                   const StmOptions& choices, std::uint32_t threads) {
  const auto steps = static_cast<std::uint64_t>(options.integer("steps"));
  bench::ArrayUpdates<RealMemory, Cell> array(
      choices, static_cast<std::uint32_t>(options.integer("objects")));
  std::atomic<std::uint64_t> commits = 0;
  std::atomic<std::uint64_t> aborts = 0;
  std::atomic<std::uint64_t> hardware = 0;
  std::uint64_t blocks = 0;
  const bool draws_anew = options.text("draws") == "anew";
  const auto block = [&] {
    ++blocks;
    run_threads(static_cast<int>(threads), [&](int number) {
      const auto thread = static_cast<std::uint64_t>(number);
      const std::uint64_t each = steps / threads;
      const bench::ArrayCounts counts =
          draws_anew ? array.run_drawing_anew(thread, each, blocks)
                     : array.run(thread, each, blocks);
      commits += counts.commits;
      aborts += counts.aborts;
      hardware += counts.hardware;
    });
    return static_cast<std::int64_t>(steps / threads * threads);
  };
  const auto counts = [&] {
    WEFT_CHECK(array.sum() == 2 * commits, "the array's sum is wrong");
    return bench::Json{{"commits", commits.load()},
                       {"hardware", hardware.load()},
                       {"aborts", aborts.load()}};
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

void transactions(const bench::WorkerOptions& options) {
  const auto threads = static_cast<std::uint32_t>(options.integer("threads"));
  StmOptions choices = bench::options_for(options.model, threads);
  if (options.text("locking") == "encounter") {
    choices.locking = Locking::kEncounterTime;
  }
  if (const std::string& policy = options.text("policy"); policy != "none") {
    choices.policy = make_conflict_policy(policy);
  }
  if (options.text("hardware") == "auto") {
    choices.hardware_attempts = StmOptions{}.hardware_attempts;
    update_arrays<Cell<std::uint64_t>>(options, choices, threads);
  } else {
    update_arrays<LockedCell<std::uint64_t>>(options, choices, threads);
  }
}

}  // namespace

void register_concurrent_transactions(ConcurrentCommandRegistry& registry) {
  registry.add({"transactions", transactions});
}

}  // namespace weft
