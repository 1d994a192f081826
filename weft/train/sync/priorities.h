// The priorities that all workers' messages have, by the order of the recipe.
//
// Threads: that which trains. Collective where an order needs times.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/train/recipe/recipe.h"
#include "weft/train/simulate/computing.h"
#include "weft/train/step/step.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

struct PriorityContext {
  Step& backward;
  std::uint64_t seed = 1;         // the same on all workers
  std::span<const double> bytes;  // of each parameter, on its way
  // What else than gradients a run of `backward` changes.
  std::span<const NamedTensor> changed;
  WorkerGroup& group;
  SimulatedComputing* computing = nullptr;  // where workers are simulated
};

struct Priorities {
  std::vector<int> priorities;  // one for each parameter of `backward`
  std::string text;  // for people: what is expected of them; may be empty
  // Those of a step, for an order that has others in each; else null.
  std::function<std::vector<int>(std::int64_t step)> of_step = {};
};

// What an order that is drawn anew draws by: the same on all ranks where they
// begin all-reduces in one order, and another on each where servers send and
// are sent to, as executors without an order do it.
std::uint64_t seed_of_draws(const SyncRecipe& recipe, std::uint64_t seed,
                            int rank);

// An order that needs times runs it, for
// about the time of six steps, and measures the network as topology "auto"
// does. Throws Error(kUnsupported) for a model that branches, loops or calls
// under such an order, and what the network throws.
Priorities agreed_priorities(const SyncRecipe& recipe,
                             const PriorityContext& context);

}  // namespace weft
