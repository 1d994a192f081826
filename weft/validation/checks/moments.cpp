// Whether mean and deviation of numbers are within what the schema says of
// them; by weight, where the data have weights.
#include "weft/validation/check.h"
#include "weft/validation/toml_text.h"

namespace weft {
namespace {

using validation::FeatureCheck;

struct MomentBounds {
  std::string_view name;  // "mean"
  double value = 0;
  std::optional<double>& least;
  std::optional<double>& most;
};

void check_bounds(FeatureCheck& feature, const MomentBounds& bounds) {
  const auto detail = [&](std::string_view side, double due) {
    return fmt::format("the {} is {}, and at {} {} is due", bounds.name,
                       validation::toml_number(bounds.value), side,
                       validation::toml_number(due));
  };
  if (bounds.least && bounds.value < *bounds.least) {
    const double due = *bounds.least;
    bounds.least = bounds.value;
    feature.report(fmt::format("low_{}", bounds.name),
                   fmt::format("a low {}", bounds.name), detail("least", due));
  }
  if (bounds.most && bounds.value > *bounds.most) {
    const double due = *bounds.most;
    bounds.most = bounds.value;
    feature.report(fmt::format("high_{}", bounds.name),
                   fmt::format("a high {}", bounds.name), detail("most", due));
  }
}

void check_moments(FeatureCheck& feature) {
  if (!feature.seen.numbers || feature.seen.numbers->finite == 0) return;
  const auto& numbers = *feature.seen.numbers;
  auto& rule = feature.rule;
  check_bounds(feature, {"mean", numbers.weighted_mean.value_or(numbers.mean),
                         rule.min_mean, rule.max_mean});
  check_bounds(feature, {"std", numbers.weighted_std.value_or(numbers.std),
                         rule.min_std, rule.max_std});
}

}  // namespace

void register_check_moments(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "moments",
                .order = 75,
                .kinds = {{"low_mean", "the mean is below min_mean"},
                          {"high_mean", "the mean is above max_mean"},
                          {"low_std", "the deviation is below min_std"},
                          {"high_std", "the deviation is above max_std"}},
                .check = check_moments});
}

}  // namespace weft
