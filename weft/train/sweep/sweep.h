// A sweep: a recipe with several values for some of its keys. Each combination
// of them is a run.
//
//   --set optimizer.lr=0.1,0.01 --set 'sync.codec=qsgd(4, bucket=64),3lc'
//
// is four runs. Commas in calls, lists and quotation marks separate nothing
// (base/call_reader.h).
//
// Threads: value types and pure functions.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "weft/train/recipe/recipe.h"

namespace weft {

// A run of a sweep.
struct SweepRun {
  // What it does otherwise than others: "optimizer.lr=0.1,train.batch=64". It
  // is the name of its folder too, so that what no file name should hold is '_'
  // there, and a digest stands behind it.
  std::string name;
  // It is read as if it were the only one: log.folder is that of the sweep.
  Recipe recipe;

  std::filesystem::path folder() const {
    return std::filesystem::path(recipe.log.folder) / name;
  }
};

// Each of `overrides` is KEY=VALUE[,VALUE…]; the last key changes fastest.
// Without several values anywhere the only run is the recipe itself, with an
// empty name.
// All recipes are read: throws as load_recipe() for any of them, and
// Error(kInvalidArgument) for a value or a key that comes twice, an empty
// value, and more than 1000 runs.
std::vector<SweepRun> load_sweep(const std::filesystem::path& recipe,
                                 std::span<const std::string> overrides);

}  // namespace weft
