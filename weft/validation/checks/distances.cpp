// How far a feature has moved: from the previous data (drift), from those that
// are served (skew).
#include "weft/validation/check.h"
#include "weft/validation/distance.h"

namespace weft {
namespace {

using validation::FeatureCheck;
using validation::FeatureSummary;
using validation::MeasuredDistance;
using validation::Threshold;

void check_threshold(FeatureCheck& feature, Threshold& threshold,
                     const FeatureSummary& control, const std::string& kind,
                     const std::string& against) {
  MeasuredDistance measured;
  try {
    measured = measure_distance(distance_registry().get(threshold.distance),
                                feature.seen, control, feature.rule.histogram);
  } catch (const Error& error) {
    feature.report(
        "not_comparable", "a distance that cannot be measured",
        fmt::format("{} {}: {}", kind, threshold.distance, error.message()));
    return;
  }
  const double value = measured.distance.value;
  const std::string& place = measured.distance.where;
  feature.measured({.feature = {},
                    .against = against,
                    .distance = threshold.distance,
                    .value = value,
                    .most = threshold.most,
                    .floor = measured.floor,
                    .where = place});
  const double due = threshold.most;
  if (value > due) {
    threshold.most = value;
    feature.report(
        kind,
        kind == "drift" ? "moved from the previous data"
                        : "differs from the data that are served",
        fmt::format("{} is {:.4g}{}, and at most {:.4g} is due",
                    threshold.distance, value,
                    place.empty() ? "" : fmt::format(" at '{}'", place), due));
  }
  if (measured.floor > due) {
    feature.report(
        "few_to_compare", "too few rows for the threshold",
        fmt::format("{} and {} values of one distribution are expected to be "
                    "{:.3g} apart by {}, and at most {:.3g} is due",
                    feature.seen.values, control.values, measured.floor,
                    threshold.distance, due));
  }
}

void check_against(FeatureCheck& feature, std::vector<Threshold>& thresholds,
                   const validation::StatisticsSummary* others,
                   const std::string& kind, const std::string& against) {
  if (thresholds.empty() || others == nullptr || feature.seen.values == 0) {
    return;
  }
  const FeatureSummary* control = others->find(feature.rule.name);
  if (control == nullptr || control->values == 0) {
    return feature.report("no_control", "nothing to compare with",
                          fmt::format("the {} data do not have it", against));
  }
  for (Threshold& threshold : thresholds) {
    check_threshold(feature, threshold, *control, kind, against);
  }
}

void check_distances(FeatureCheck& feature) {
  check_against(feature, feature.rule.drift, feature.input.previous, "drift",
                "previous");
  check_against(feature, feature.rule.skew, feature.input.serving, "skew",
                "serving");
}

}  // namespace

void register_check_distances(validation::FeatureCheckRegistry& registry) {
  using validation::Severity;
  registry.add(
      {.name = "distances",
       .order = 90,
       .kinds = {{"drift", "further from the previous data than is allowed"},
                 {"skew", "further from the served data than is allowed"},
                 {"no_control", "the other data lack the feature"},
                 {"not_comparable", "a distance is nothing for the feature"},
                 {"few_to_compare",
                  "sampling alone is expected to pass the threshold",
                  Severity::kWarning}},
       .check = check_distances});
}

}  // namespace weft
