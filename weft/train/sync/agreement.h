// What all workers of a run must have alike, item by item, for
// WorkerGroup::agree().
//
// Threads: pure.
#pragma once

#include <vector>

#include "weft/data/dataset.h"
#include "weft/train/recipe.h"
#include "weft/train/sync/worker_group.h"

namespace weft {

// Every key of a recipe but folders and what changes no number, and how the run
// begins.
std::vector<AgreedItem> recipe_items(const Recipe& recipe, bool is_resumed);

// The size of each part of the data, what it holds, and a digest of some of its
// examples at regular distances. Cost: reads those.
std::vector<AgreedItem> data_items(const DatasetSplits& data);

}  // namespace weft
