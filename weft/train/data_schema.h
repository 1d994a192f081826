// Whether the data of a recipe are as its schema says (data.schema).
//
// Threads: thread-safe.
#pragma once

#include "weft/train/recipe/recipe.h"

namespace weft {

// Counts the rows of the training part in one pass and holds them against the
// schema, in its environment "training" where it has one. Without a schema
// nothing is looked at. Throws Error(kDataLoss) with the anomalies that are
// errors, and what reading the schema or the data throws.
void check_schema(const DataRecipe& data);

}  // namespace weft
