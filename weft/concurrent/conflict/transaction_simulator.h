// Many cores that run transactions and collide: what delays are worth where
// hardware detects conflicts, as Intel's and the paper's simulated machine do.
//
//   const auto policy = make_conflict_policy("random");
//   const TransactionStatistics found = simulate_transactions(
//       transaction_workload("stack"), {.cores = 16, .policy = policy.get()});
//   found.commits / found.time;
//
// Each core works on what nobody shares, then runs a transaction, over and
// over. A transaction asks for its objects one by one at certain points of its
// work and holds each until it commits. If another holds it, the policy
// decides: the requestor waits, and after the delay the owner dies (requestor
// wins) or the requestor does. Who dies drops all it holds and starts again
// after `cleanup`. Who gets an object that others wait for goes to the one that
// asked first; the others then decide anew, about its new owner.
//
// An event loop of its own: jobs of weft/simulate hold their resources to the
// end and cannot be aborted.
//
// Source: section 3.4 and the evaluation of Alistarh, Haider, Kübler,
// Nadiradze, "The Transactional Conflict Problem", SPAA 2018.
//
// Threads: pure functions. Times are in nanoseconds of the simulated machine.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/concurrent/conflict/conflict.h"
#include "weft/concurrent/random.h"

namespace weft::concurrent {

struct TransactionWorkload {
  std::string name;
  int objects = 1;
  int picks = 1;  // different objects that a transaction asks for
  // How long it works if nobody disturbs it, and how long its core does
  // something else before.
  std::function<double(FastRandom&)> length;
  std::function<double(FastRandom&)> pause;
};

// stack (one object), queue (its two ends), txapp (2 of 64 objects), bimodal
// (1 of 2; one transaction in ten is 20 times as long). Throws
// Error(kInvalidArgument) for another name.
const TransactionWorkload& transaction_workload(std::string_view name);
std::vector<std::string> transaction_workload_names();

struct TransactionOptions {
  int cores = 8;
  const ConflictPolicy* policy = nullptr;
  bool can_kill_owner = true;  // requestor wins
  // Policies are told the owner's true remaining work instead of the mean of
  // what it was at earlier conflicts: for the policy "oracle".
  bool knows_remaining = false;
  double cleanup = 20;
  double time = 1e6;
  std::uint64_t seed = 1;
};

struct TransactionStatistics {
  double time = 0;
  std::uint64_t commits = 0;
  std::uint64_t aborts = 0;
  std::uint64_t conflicts = 0;
  double waited = 0;              // of all cores
  double wasted = 0;              // in attempts that died
  std::uint64_t most_aborts = 0;  // of one transaction
};

// Throws Error(kInvalidArgument) for no cores, no policy or no time.
TransactionStatistics simulate_transactions(const TransactionWorkload& workload,
                                            const TransactionOptions& options);

// The fixed delay, of a geometric sweep, with which most transactions commit:
// it stands for a delay tuned by hand for this very load. `options.policy` is
// not read. Costs one simulation for each of 23 delays.
struct TunedDelay {
  double delay = 0;
  TransactionStatistics statistics;
};
TunedDelay tune_fixed_delay(const TransactionWorkload& workload,
                            const TransactionOptions& options);

}  // namespace weft::concurrent
