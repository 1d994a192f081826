// Orders: which messages go first where several wait to be sent.
//
// [sync] order = "first_use" names one with its options. It gives each
// parameter a priority, which its messages carry: TCP, a simulated network and
// credit (comm/transport/credit_queue.h) let the highest go first. Orders
// change when things travel and nothing of what they are. A new one is one file
// in sync/orders.
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
#include "weft/place/transfer_order.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct OrderContext {
  // Where in a step each parameter is used first: a smaller number is earlier.
  std::span<const std::int64_t> first_uses;
  std::uint64_t seed = 1;  // seed_of_draws() in priorities.h
  std::int64_t step = 0;   // for an order that is another in each
  // What a step computes with the parameters, which are its transfers; empty
  // for an order that needs no more than uses.
  TransferGraph graph = {};
};

// What an order looks at: each includes those before it. Times are the first
// worker's, who measures and tells the others its priorities.
enum class OrderNeeds { kUses, kGraph, kTimes };

struct SyncOrderDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  OrderNeeds needs = OrderNeeds::kUses;
  // Whether each step has an order of its own, which a resumed run has, too.
  bool is_drawn_anew = false;
  // One for each parameter, as many as there are `first_uses`: the higher goes
  // first, and among equals what is there first. Deterministic. `options` are
  // complete, here and below.
  std::vector<int> (*priorities)(const Options& options,
                                 const OrderContext& context) = nullptr;
  // Changes what other keys of [sync] are where the recipe leaves them out;
  // null: nothing. `recipe` is what the others say.
  void (*defaults)(const Options& options, SyncRecipe& recipe) = nullptr;
};

using SyncOrderRegistry = Registry<SyncOrderDef>;

// It is filled from the files of weft/train/sync/orders.
const SyncOrderRegistry& sync_order_registry();

// The one that a recipe names. Throws Error(kInvalidArgument) with the nearest
// name, or what is wrong with an option.
Call<SyncOrderDef> order_of(const SyncRecipe& recipe);
// Those of that order.
std::vector<int> priorities_of(const SyncRecipe& recipe,
                               const OrderContext& context);

// Whether any message could go before another that was there first.
bool has_priorities(const SyncRecipe& recipe);

// Priorities of places in an order: what has the least place goes first.
// Equals stay equals.
std::vector<int> priorities_of_places(std::span<const std::size_t> places);
// What is used first goes first, and what is never used last; equals by number.
std::vector<int> priorities_by_first_use(std::span<const std::int64_t> uses);

}  // namespace weft
