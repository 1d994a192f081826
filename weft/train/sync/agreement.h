// What all workers of a run must have alike, item by item, for
// WorkerGroup::agree().
//
// Threads: pure.
#pragma once

#include <vector>

#include "weft/train/recipe/recipe.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

// Every key of a recipe but folders and what changes no number, and how the run
// begins.
std::vector<AgreedItem> recipe_items(const Recipe& recipe, bool is_resumed);

}  // namespace weft
