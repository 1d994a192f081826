// Whether numbers are in their range, and values what their domain says.
#include "weft/validation/boolean_text.h"
#include "weft/validation/check.h"
#include "weft/validation/toml_text.h"

namespace weft {
namespace {

using validation::Bound;
using validation::Domain;
using validation::FeatureCheck;
using validation::FeatureSummary;
using validation::ValueCount;

std::string share_of(std::uint64_t count, const FeatureSummary& seen) {
  return fmt::format("{} of {} values ({})", count, seen.values,
                     validation::share_text(static_cast<double>(count) /
                                            static_cast<double>(seen.values)));
}

void check_bool(FeatureCheck& feature) {
  if (feature.rule.domain != Domain::kBool) return;
  std::vector<std::string> others;
  for (const ValueCount& value : feature.seen.counts) {
    const bool is_bool = value.bytes == value.text.size() &&
                         (validation::is_true_text(value.text) ||
                          validation::is_false_text(value.text));
    if (!is_bool) others.push_back(value.text);
  }
  // More values than are counted exactly are more than two.
  if (others.empty() && feature.seen.is_exact) return;
  feature.rule.domain = Domain::kAny;
  feature.report("not_bool", "values that are neither true nor false",
                 validation::listed(others));
}

void check_number_text(FeatureCheck& feature) {
  const Domain domain = feature.rule.domain;
  if (domain != Domain::kInteger && domain != Domain::kNumber) return;
  const FeatureSummary& seen = feature.seen;
  const std::uint64_t good =
      domain == Domain::kInteger
          ? seen.integers + seen.integer_strings
          : seen.integers + seen.floats + seen.number_strings;
  if (good >= seen.values) return;
  feature.rule.domain = Domain::kAny;
  feature.report(
      "not_a_number", "texts that are no numbers",
      fmt::format("{} are no {}", share_of(seen.values - good, seen),
                  domain == Domain::kInteger ? "integers" : "numbers"));
}

void check_range(FeatureCheck& feature) {
  if (!feature.seen.numbers || feature.seen.numbers->finite == 0) return;
  auto& min = feature.rule.min;
  auto& max = feature.rule.max;
  const Bound least = feature.seen.numbers->least;
  const Bound most = feature.seen.numbers->most;
  if (min && least < *min) {
    const Bound due = *min;
    min = least;
    feature.report("below_min", "numbers below the least",
                   fmt::format("{}, and at least {} is due",
                               validation::toml_number(least),
                               validation::toml_number(due)));
  }
  if (max && most > *max) {
    const Bound due = *max;
    max = most;
    feature.report(
        "above_max", "numbers above the most",
        fmt::format("{}, and at most {} is due", validation::toml_number(most),
                    validation::toml_number(due)));
  }
}

void check_none(FeatureCheck& feature) {
  if (!feature.seen.numbers) return;
  const auto& numbers = *feature.seen.numbers;
  if (feature.rule.disallow_nan && numbers.nans > 0) {
    feature.rule.disallow_nan = false;
    feature.report("nan", "NaN among the numbers",
                   share_of(numbers.nans, feature.seen));
  }
  const std::uint64_t infinite =
      numbers.positive_infinities + numbers.negative_infinities;
  if (feature.rule.disallow_inf && infinite > 0) {
    feature.rule.disallow_inf = false;
    feature.report("infinite", "infinity among the numbers",
                   share_of(infinite, feature.seen));
  }
}

void check_numbers(FeatureCheck& feature) {
  check_bool(feature);
  check_number_text(feature);
  check_range(feature);
  check_none(feature);
}

}  // namespace

void register_check_numbers(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "numbers",
                .order = 70,
                .kinds = {{"not_bool", "a value is neither true nor false"},
                          {"not_a_number", "a text is no integer or number"},
                          {"below_min", "a number is below min"},
                          {"above_max", "a number is above max"},
                          {"nan", "NaN where it is disallowed"},
                          {"infinite", "infinity where it is disallowed"}},
                .check = check_numbers});
}

}  // namespace weft
