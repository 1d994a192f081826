// Whether all lists have the size that the schema fixes.
#include "weft/validation/check.h"

namespace weft {
namespace {

void check_shape(validation::FeatureCheck& feature) {
  auto& shape = feature.rule.shape;
  if (!shape) return;
  const auto& levels = feature.seen.levels;
  bool fits = shape->size() == levels.size();
  std::string sizes;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const auto& level = levels[i];
    fits = fits && level.least == (*shape)[i] && level.most == (*shape)[i];
    sizes += (i == 0 ? "" : " × ") +
             (level.least == level.most
                  ? fmt::format("{}", level.least)
                  : fmt::format("{}…{}", level.least, level.most));
  }
  if (fits) return;
  std::string due;
  for (const std::int64_t size : *shape) {
    due += fmt::format("{}{}", due.empty() ? "" : " × ", size);
  }
  // Bounds in its place would be a guess.
  shape.reset();
  feature.report("shape", "lists of another shape",
                 fmt::format("{}, and {} is due", sizes, due));
}

}  // namespace

void register_check_shape(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "shape",
                .order = 20,
                .kinds = {{"shape", "lists do not have the fixed shape"}},
                .check = check_shape});
}

}  // namespace weft
