// Statistics as people and checks read them: everything worked out, nothing
// left to add up.
//
// Threads: value types and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "weft/validation/histogram.h"
#include "weft/validation/label_association.h"
#include "weft/validation/statistics.h"

namespace weft::validation {

enum class ValueType { kInt, kFloat, kString };
// "int", "float", "string".
std::string_view to_string(ValueType type);

// A bound of numbers that holds every integer of 64 bits and every double.
using Bound = long double;

struct ListSummary {
  std::int64_t least = 0;
  std::int64_t most = 0;
  double mean = 0;
  std::vector<double> quantiles;  // tenths, both ends included
};

struct NumberSummary {
  std::uint64_t finite = 0;
  std::uint64_t zeros = 0;
  std::uint64_t nans = 0;
  std::uint64_t positive_infinities = 0;
  std::uint64_t negative_infinities = 0;
  // These are of the finite ones, which there must be.
  Bound least = 0;
  Bound most = 0;
  double mean = 0;
  double std = 0;
  double median = 0;
  std::optional<double> weighted_mean = {};
  std::optional<double> weighted_std = {};
  Histogram equal_width;  // 10 buckets
  Histogram quantiles;    // 10 buckets
};

struct FeatureSummary {
  std::string name;
  ValueType type = ValueType::kString;
  bool is_typed = false;
  std::uint64_t rows = 0;  // of all data
  std::uint64_t present = 0;
  std::optional<double> weighted_share = {};  // of the rows that have it
  std::vector<ListSummary> levels;
  std::uint64_t values = 0;
  // How many are integers, other numbers, and texts; texts of a typed source
  // are `strings`.
  std::uint64_t integers = 0;
  std::uint64_t floats = 0;
  std::uint64_t texts = 0;
  std::uint64_t strings = 0;
  std::uint64_t integer_strings = 0;     // strings that look like integers
  std::uint64_t number_strings = 0;      // or like any number
  std::optional<NumberSummary> numbers;  // where there are any
  double mean_bytes = 0;
  std::uint64_t least_bytes = 0;
  std::uint64_t most_bytes = 0;
  std::uint64_t invalid_utf8 = 0;
  FormCounts forms = {};
  // Where a vocabulary was given.
  std::optional<WordCounts> words = {};
  // Where images were to be decoded.
  std::optional<ImageCounts> images = {};
  double distinct = 0;
  // True where `counts` are all values with their exact counts; else they are
  // the frequent ones, and each may have come `error` times more.
  bool is_exact = true;
  std::uint64_t error = 0;
  std::vector<ValueCount> counts;  // the most frequent first

  std::uint64_t missing() const { return rows - present; }
  double present_share() const {
    return rows == 0 ? 0
                     : static_cast<double>(present) / static_cast<double>(rows);
  }
};

struct SliceSummary;

struct StatisticsSummary {
  std::uint64_t rows = 0;
  std::optional<double> weight = {};
  std::vector<FeatureSummary> features;
  // Those that were asked for; a label's are summed up below.
  std::vector<SliceSummary> slices;
  std::string label = {};
  std::vector<LabelAssociation> associations = {};

  const FeatureSummary* find(std::string_view name) const;
};

// A type of its own, as clang reads no std::pair of a type in itself.
struct SliceSummary {
  std::string key;  // "feature=value"
  StatisticsSummary summary;
};

StatisticsSummary summarize(const Statistics& statistics);

}  // namespace weft::validation
