// How long lists are, and how deep they are nested.
#include "weft/validation/check.h"
#include "weft/validation/infer.h"

namespace weft {
namespace {

using validation::FeatureCheck;
using validation::ListBounds;

void check_value_count(FeatureCheck& feature) {
  const auto& levels = feature.seen.levels;
  auto& bounds = feature.rule.value_count;
  if (bounds.empty()) return;
  // Where all lists are empty, nobody sees how deep they would be.
  const bool may_be_deeper =
      feature.seen.values == 0 && levels.size() < bounds.size();
  if (bounds.size() != levels.size() && !may_be_deeper) {
    const std::size_t due = bounds.size();
    infer_counts(feature.seen, feature.rule);
    return feature.report(
        "nesting_depth", "lists are nested to another depth",
        fmt::format("{} deep, and {} is due", levels.size(), due));
  }
  for (std::size_t i = 0; i < levels.size(); ++i) {
    ListBounds& level = bounds[i];
    const std::string where =
        bounds.size() == 1 ? "" : fmt::format(" at level {}", i + 1);
    if (level.min && levels[i].least < *level.min) {
      const std::int64_t due = *level.min;
      level.min = levels[i].least;
      feature.report("few_values", "too few values",
                     fmt::format("a row has {}{}, and at least {} are due",
                                 levels[i].least, where, due));
    }
    if (level.max && levels[i].most > *level.max) {
      const std::int64_t due = *level.max;
      level.max = levels[i].most;
      feature.report("many_values", "too many values",
                     fmt::format("a row has {}{}, and at most {} are due",
                                 levels[i].most, where, due));
    }
  }
}

}  // namespace

void register_check_value_count(validation::FeatureCheckRegistry& registry) {
  registry.add(
      {.name = "value_count",
       .order = 10,
       .kinds = {{"few_values", "a list is shorter than value_count.min"},
                 {"many_values", "a list is longer than value_count.max"},
                 {"nesting_depth", "lists are nested to another depth"}},
       .check = check_value_count});
}

}  // namespace weft
