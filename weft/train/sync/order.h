// Orders: which messages go first where several wait to be sent.
//
// [sync] order = "first_use" names one with its options. It gives each
// parameter a priority, which its messages carry: TCP, a simulated network and
// a server's credit (send_queue.h) let the highest go first. Orders change when
// things travel and nothing of what they are. A new one is one file in
// sync/orders.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "weft/base/call_reader.h"
#include "weft/base/option_schema.h"
#include "weft/base/registry.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct OrderContext {
  // Where in a step each parameter is used first: a smaller number is earlier.
  std::span<const std::int64_t> first_uses;
  std::uint64_t seed = 1;  // the same on all workers
};

struct SyncOrderDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // One for each parameter, as many as there are `first_uses`: the higher goes
  // first, and among equals what is there first. Deterministic.
  std::vector<int> (*priorities)(const Options& options,
                                 const OrderContext& context) = nullptr;
};

using SyncOrderRegistry = Registry<SyncOrderDef>;

// It is filled from the files of weft/train/sync/orders.
const SyncOrderRegistry& sync_order_registry();

// Those of the order that a recipe names. Throws Error(kInvalidArgument) with
// the nearest name, or what is wrong with an option.
std::vector<int> priorities_of(const SyncRecipe& recipe,
                               const OrderContext& context);
// Whether any message could go before another that was there first.
bool has_priorities(const SyncRecipe& recipe);

}  // namespace weft
