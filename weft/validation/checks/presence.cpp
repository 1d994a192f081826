// In how many rows a feature is.
#include "weft/validation/check.h"

namespace weft {
namespace {

void check_fraction(validation::FeatureCheck& feature) {
  auto& least = feature.rule.min_fraction;
  if (!least) return;
  const double share = feature.seen.present_share();
  // Where all rows must have it, one that has not is enough, also where
  // rounding would hide it.
  const bool lacks_one = *least == 1 && feature.seen.missing() > 0;
  if (share >= *least && !lacks_one) return;
  const double due = *least;
  constexpr double kNearlyAll = 0.9999;
  least = share < 1 ? share : kNearlyAll;
  feature.report(
      "low_fraction", "present in too few rows",
      fmt::format("{} of {} rows lack it ({}), and at least {} must have it",
                  feature.seen.missing(), feature.seen.rows,
                  validation::share_text(1 - share),
                  validation::share_text(due)));
}

void check_presence(validation::FeatureCheck& feature) {
  check_fraction(feature);
  auto& least = feature.rule.min_count;
  const auto present = static_cast<std::int64_t>(feature.seen.present);
  if (!least || present >= *least) return;
  const std::int64_t due = *least;
  least = present;
  feature.report(
      "low_count", "present in too few rows",
      fmt::format("{} rows have it, and at least {} are due", present, due));
}

}  // namespace

void register_check_presence(validation::FeatureCheckRegistry& registry) {
  registry.add(
      {.name = "presence",
       .order = 30,
       .kinds = {{"low_fraction", "a smaller share of rows than min_fraction"},
                 {"low_count", "fewer rows than min_count"}},
       .check = check_presence});
}

}  // namespace weft
