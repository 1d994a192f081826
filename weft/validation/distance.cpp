#include "weft/validation/distance.h"

#include <algorithm>
#include <map>

#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

// What is not among the frequent values, together.
constexpr std::string_view kOthers = "(others)";

void add_counts(const FeatureSummary& feature, bool is_first,
                std::map<std::string, std::pair<double, double>>& all) {
  std::uint64_t known = 0;
  const auto add = [&](std::string_view name, std::uint64_t count) {
    auto& [first, second] = all[std::string(name)];
    (is_first ? first : second) += static_cast<double>(count);
  };
  for (const ValueCount& value : feature.counts) {
    add(value.text, value.count);
    known += value.count;
  }
  if (known < feature.values) add(kOthers, feature.values - known);
}

Distributions values_of(const FeatureSummary& first,
                        const FeatureSummary& second) {
  std::map<std::string, std::pair<double, double>> all;
  add_counts(first, true, all);
  add_counts(second, false, all);
  Distributions given;
  for (const auto& [name, counts] : all) {
    given.names.push_back(name);
    given.first.push_back(counts.first / static_cast<double>(first.values));
    given.second.push_back(counts.second / static_cast<double>(second.values));
  }
  return given;
}

Histogram histogram_of(const FeatureSummary& feature, const std::string& kind) {
  if (kind == "quantiles") return feature.numbers->quantiles;
  if (kind == "equal_width") return feature.numbers->equal_width;
  if (!feature.is_exact) {
    throw Error(ErrorCode::kInvalidArgument, feature.name,
                "it has too many different values for a histogram of them")
        .hint("histogram = \"quantiles\" is for any number");
  }
  return value_histogram(feature.counts);
}

}  // namespace

Distributions distributions_of(const FeatureSummary& first,
                               const FeatureSummary& second,
                               const std::string& histogram,
                               bool takes_numbers) {
  if (first.values == 0 || second.values == 0) {
    throw Error(ErrorCode::kInvalidArgument, first.name,
                "a distance to nothing is none");
  }
  const bool has_texts =
      first.type == ValueType::kString || second.type == ValueType::kString;
  if (has_texts && first.type != second.type) {
    throw Error(ErrorCode::kInvalidArgument, first.name,
                "one side has texts, and the other numbers");
  }
  Distributions given;
  if (has_texts) {
    given = values_of(first, second);
  } else if (takes_numbers) {
    const AlignedShares shares =
        align(histogram_of(first, histogram), histogram_of(second, histogram));
    given.first = shares.first;
    given.second = shares.second;
  } else {
    // Integers that name things, as months do, are values like others.
    const bool has_names = first.type == ValueType::kInt &&
                           second.type == ValueType::kInt && first.is_exact &&
                           second.is_exact;
    if (!has_names) {
      throw Error(ErrorCode::kInvalidArgument, first.name,
                  "this distance compares values, and numbers rarely come "
                  "twice")
          .hint("jensen_shannon compares histograms of numbers");
    }
    given = values_of(first, second);
  }
  given.first_count = static_cast<double>(first.values);
  given.second_count = static_cast<double>(second.values);
  return given;
}

MeasuredDistance measure_distance(const DistanceDef& def,
                                  const FeatureSummary& first,
                                  const FeatureSummary& second,
                                  const std::string& histogram) {
  const Distributions given =
      distributions_of(first, second, histogram, def.takes_numbers);
  MeasuredDistance measured{def.measure(given), def.floor(given)};
  measured.distance.where = shown_text(measured.distance.where, 80);
  return measured;
}

}  // namespace weft::validation
