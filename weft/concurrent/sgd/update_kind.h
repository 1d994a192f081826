// How the threads of a lock-free SGD bring their updates into one vector.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft::concurrent {

enum class UpdateKind : std::uint8_t {
  kSequential,  // plain memory, one thread
  kLocked,      // one lock around each iteration, its reads included
  kStriped,     // a lock for each group of entries, around their additions
  // In the order of iterations, as in Langford, Smola, Zinkevich, "Slow
  // Learners are Fast", NeurIPS 2009.
  kRoundRobin,
  // Load, add, store, without any lock: what another thread adds in between is
  // lost. Niu, Recht, Re, Wright, "Hogwild!", NeurIPS 2011.
  kHogwild,
  // Fetch-and-add: nothing is lost. Alistarh, De Sa, Konstantinov, "The
  // Convergence of Stochastic Gradient Descent in Asynchronous Shared Memory",
  // PODC 2018.
  kAtomic,
};

// "sequential", "locked", "striped", "round-robin", "hogwild", "atomic".
const std::vector<std::string>& update_kind_names();
std::string_view to_string(UpdateKind kind);
// Throws Error(kInvalidArgument) for a name that is none.
UpdateKind update_kind(std::string_view name);

}  // namespace weft::concurrent
