#include "weft/validation/summary.h"

#include <algorithm>

namespace weft::validation {
namespace {

constexpr int kBuckets = 10;

std::vector<double> tenths() {
  std::vector<double> shares;
  for (int i = 0; i <= 10; ++i) shares.push_back(i / 10.0);
  return shares;
}

ListSummary summary_of(const ListLengths& lengths) {
  ListSummary summary{
      .least = lengths.least, .most = lengths.most, .quantiles = {}};
  if (lengths.lists == 0) return summary;
  summary.mean =
      static_cast<double>(lengths.total) / static_cast<double>(lengths.lists);
  summary.quantiles = lengths.quantiles.quantiles(tenths());
  // The sketch may have lost the ends.
  summary.quantiles.front() = static_cast<double>(lengths.least);
  summary.quantiles.back() = static_cast<double>(lengths.most);
  return summary;
}

NumberSummary numbers_of(const ValueProfile& profile, bool has_weights) {
  NumberSummary numbers{.finite = profile.numbers.count(),
                        .zeros = profile.zeros,
                        .nans = profile.nans,
                        .positive_infinities = profile.positive_infinities,
                        .negative_infinities = profile.negative_infinities,
                        .equal_width = equal_width_histogram(profile, kBuckets),
                        .quantiles = quantile_histogram(profile, kBuckets)};
  if (numbers.finite == 0) return numbers;
  numbers.least = profile.least_float;
  numbers.most = profile.most_float;
  if (profile.integers > 0) {
    numbers.least =
        std::min(numbers.least, static_cast<Bound>(profile.least_integer));
    numbers.most =
        std::max(numbers.most, static_cast<Bound>(profile.most_integer));
  }
  numbers.mean = profile.moments.mean();
  numbers.std = profile.moments.std();
  numbers.median = profile.numbers.quantiles({0.5})[0];
  if (has_weights) {
    numbers.weighted_mean = profile.weighted.mean();
    numbers.weighted_std = profile.weighted.std();
  }
  return numbers;
}

FeatureSummary summary_of(const std::string& name,
                          const FeatureStatistics& feature,
                          const Statistics& all) {
  const ValueProfile profile = feature.profile();
  const bool has_weights = !all.options().weight.empty();
  FeatureSummary summary{.name = name,
                         .is_typed = feature.is_typed(),
                         .rows = all.rows(),
                         .present = feature.rows(),
                         .levels = {},
                         .integers = profile.integers,
                         .floats = profile.floats,
                         .texts = profile.texts,
                         .strings = profile.strings,
                         .integer_strings = profile.integer_strings,
                         .number_strings = profile.number_strings,
                         .numbers = {},
                         .invalid_utf8 = profile.invalid_utf8,
                         .forms = profile.forms,
                         .images = feature.images(),
                         .distinct = feature.distinct(),
                         .is_exact = feature.counts().is_exact(),
                         .error = feature.counts().error(),
                         .counts = feature.counts().values()};
  if (profile.vocabulary) summary.words = profile.words;
  summary.values =
      profile.integers + profile.floats + profile.texts + profile.strings;
  const bool has_texts = profile.texts + profile.strings > 0;
  summary.type = has_texts || summary.values == 0 ? ValueType::kString
                 : profile.floats > 0             ? ValueType::kFloat
                                                  : ValueType::kInt;
  for (const ListLengths& level : feature.levels()) {
    summary.levels.push_back(summary_of(level));
  }
  if (has_weights && all.weight() > 0) {
    summary.weighted_share = feature.weight() / all.weight();
  }
  if (profile.integers + profile.floats > 0) {
    summary.numbers = numbers_of(profile, has_weights);
  }
  if (summary.values > 0) {
    summary.mean_bytes = static_cast<double>(profile.bytes) /
                         static_cast<double>(summary.values);
    summary.least_bytes = profile.least_bytes;
    summary.most_bytes = profile.most_bytes;
  }
  // The most frequent first; of equal ones by the text, as hashes say nothing
  // to people.
  std::ranges::sort(summary.counts,
                    [](const ValueCount& a, const ValueCount& b) {
                      if (a.count != b.count) return a.count > b.count;
                      if (a.text != b.text) return a.text < b.text;
                      return a.hash < b.hash;
                    });
  return summary;
}

// Whether a slice is there for the label, and was not asked for beside.
bool is_of_label_alone(const StatisticsOptions& options,
                       const std::string& key) {
  const auto is_of = [&](const std::string& feature) {
    return key.starts_with(feature + "=") || key == feature + " is missing";
  };
  return !options.label.empty() && is_of(options.label) &&
         std::ranges::none_of(options.slices, is_of);
}

}  // namespace

std::string_view to_string(ValueType type) {
  switch (type) {
    case ValueType::kInt:
      return "int";
    case ValueType::kFloat:
      return "float";
    case ValueType::kString:
      return "string";
  }
  return "";
}

const FeatureSummary* StatisticsSummary::find(std::string_view name) const {
  const auto found = std::ranges::find(features, name, &FeatureSummary::name);
  return found == features.end() ? nullptr : &*found;
}

StatisticsSummary summarize(const Statistics& statistics) {
  StatisticsSummary summary{
      .rows = statistics.rows(), .features = {}, .slices = {}};
  if (!statistics.options().weight.empty()) {
    summary.weight = statistics.weight();
  }
  for (const auto& [name, feature] : statistics.features()) {
    summary.features.push_back(summary_of(name, feature, statistics));
  }
  summary.label = statistics.options().label;
  if (!summary.label.empty()) {
    summary.associations = associate(statistics, summary.label);
  }
  for (const auto& [key, slice] : statistics.slices()) {
    if (is_of_label_alone(statistics.options(), key)) continue;
    summary.slices.push_back({key, summarize(slice)});
  }
  return summary;
}

}  // namespace weft::validation
