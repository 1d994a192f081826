// What keys of [sync] decline of each other and of the optimizer.
//
// What a key may be by itself is declared with it (train/sections/sync.cpp).
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/base/refusal.h"
#include "weft/optim/optimizer.h"
#include "weft/train/recipe/recipe.h"

namespace weft {

struct SyncRule {
  std::string key;  // that declines
  // What it is, for messages: "'server'".
  std::string (*value)(const SyncRecipe& recipe) = nullptr;
  std::optional<Refusal> (*declines)(const SyncRecipe& recipe,
                                     const Optimizer& optimizer) = nullptr;

  // Throws Error(kInvalidArgument) at "sync.KEY" if it declines.
  void check(const SyncRecipe& recipe, const Optimizer& optimizer) const;
};

// They are in the order in which they are to be asked: each takes for granted
// what those before it have not declined.
const std::vector<SyncRule>& sync_rules();

// Checks all of them, in that order.
void check_sync(const SyncRecipe& recipe, const Optimizer& optimizer);

}  // namespace weft
