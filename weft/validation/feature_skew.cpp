#include "weft/validation/feature_skew.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include "weft/validation/value_hash.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

constexpr std::size_t kMostConfusion = 10000;

// A row by its features; those that it lacks, or has empty, are not in it.
using SkewRow = std::map<std::string, std::string>;

// As it is compared: numbers in one way of writing them.
std::string comparable(std::string_view text,
                       const FeatureSkewOptions& options) {
  const ParsedValue value = parse_value(text);
  if (value.kind == ValueKind::kText) return std::string(text);
  if (value.kind == ValueKind::kInt && !options.digits) {
    return fmt::format("{}", value.integer);
  }
  double number = value.number;
  if (options.digits && std::isfinite(number)) {
    const double scale = std::pow(10.0, *options.digits);
    const double rounded = std::round(number * scale) / scale;
    // Beyond the digits of doubles there is nothing to round.
    if (std::isfinite(rounded)) number = rounded;
  }
  if (number == 0) number = 0;  // and not -0
  return fmt::format("{}", number);
}

// The rows of a source one by one.
template <class Body>
void for_each_row(RowSource& source, const FeatureSkewOptions& options,
                  const char* side, const Body& body) {
  ColumnBatch batch;
  bool is_first = true;
  while (source.next(batch)) {
    for (const std::string& name : options.identifiers) {
      if (!is_first || std::ranges::find(batch.columns, name, &Column::name) !=
                           batch.columns.end()) {
        continue;
      }
      throw Error(ErrorCode::kInvalidArgument, "identifier",
                  "the {} data have no feature '{}'", side, name);
    }
    is_first = false;
    std::vector<SkewRow> rows(static_cast<std::size_t>(batch.rows));
    for (const Column& column : batch.columns) {
      const std::vector<std::int64_t> counts = values_per_row(column);
      std::size_t next = 0;
      for (std::size_t row = 0; row < rows.size(); ++row) {
        if (counts[row] == 0) continue;
        std::string& text = rows[row][column.name];
        for (std::int64_t i = 0; i < counts[row]; ++i) {
          text +=
              (i == 0 ? "" : ", ") + comparable(column.values[next++], options);
        }
      }
    }
    for (SkewRow& row : rows) body(std::move(row));
  }
}

// The fingerprint of the identifiers; 0 where one is missing.
std::uint64_t fingerprint_of(const SkewRow& row,
                             const FeatureSkewOptions& options) {
  std::vector<std::string> names = options.identifiers;
  std::ranges::sort(names);
  std::string all;
  for (const std::string& name : names) {
    const auto found = row.find(name);
    if (found == row.end()) return 0;
    // Lengths keep "a", "bc" and "ab", "c" apart.
    all += fmt::format("{}:{}{}:{}", name.size(), name, found->second.size(),
                       found->second);
  }
  return hash_text(all, false);
}

class SkewJoin {
 public:
  explicit SkewJoin(const FeatureSkewOptions& options) : options_(options) {}

  void add_base(SkewRow row) {
    ++report_.base_rows;
    const std::uint64_t print = fingerprint_of(row, options_);
    if (print == 0) {
      ++report_.base_without;
      return;
    }
    base_[print].push_back(std::move(row));
  }

  void add_test(SkewRow row) {
    ++report_.test_rows;
    const std::uint64_t print = fingerprint_of(row, options_);
    if (print == 0) {
      ++report_.test_without;
      return;
    }
    const auto found = base_.find(print);
    // Only rows that meet others are kept until it is known whether they are
    // alone.
    if (found == base_.end()) {
      if (!strangers_.insert(print).second) ++report_.test_duplicates;
      return;
    }
    test_[print].push_back(std::move(row));
  }

  FeatureSkewReport result() && {
    for (const auto& [print, rows] : base_) {
      report_.base_duplicates += rows.size() - 1;
    }
    for (const auto& [print, rows] : test_) {
      report_.test_duplicates += rows.size() - 1;
      const auto& others = base_.at(print);
      if (!options_.pairs_duplicates && rows.size() + others.size() > 2) {
        continue;
      }
      for (const SkewRow& base : others) {
        for (const SkewRow& test : rows) compare(base, test);
      }
    }
    for (auto& [name, feature] : features_) {
      feature.name = name;
      std::ranges::sort(feature.samples, {}, &FeatureSkew::Sample::identifier);
      report_.features.push_back(std::move(feature));
    }
    return std::move(report_);
  }

 private:
  void compare(const SkewRow& base, const SkewRow& test) {
    ++report_.pairs;
    for (const auto& [name, value] : base) {
      const auto found = test.find(name);
      count(name, base, &value, found == test.end() ? nullptr : &found->second);
    }
    for (const auto& [name, value] : test) {
      if (!base.contains(name)) count(name, base, nullptr, &value);
    }
  }

  void count(const std::string& name, const SkewRow& row,
             const std::string* base, const std::string* test) {
    FeatureSkew& feature = features_[name];
    feature.base += base != nullptr;
    feature.test += test != nullptr;
    if (test == nullptr) {
      ++feature.base_only;
    } else if (base == nullptr) {
      ++feature.test_only;
    } else {
      ++(*base == *test ? feature.match : feature.mismatch);
      if (std::ranges::find(options_.confusion, name) !=
          options_.confusion.end()) {
        count_pair({*base, *test}, feature);
      }
    }
    const bool differs = base == nullptr || test == nullptr || *base != *test;
    if (!differs || feature.samples.size() == options_.most_samples) return;
    std::string identifier;
    for (const std::string& each : options_.identifiers) {
      identifier += (identifier.empty() ? "" : ", ") + row.at(each);
    }
    feature.samples.push_back({std::move(identifier),
                               base == nullptr ? "" : *base,
                               test == nullptr ? "" : *test});
  }

  // Others than so many are left out.
  static void count_pair(const std::pair<std::string, std::string>& values,
                         FeatureSkew& feature) {
    auto& pairs = feature.confusion;
    if (pairs.size() < kMostConfusion || pairs.contains(values)) {
      ++pairs[values];
    }
  }

  const FeatureSkewOptions& options_;
  FeatureSkewReport report_;
  std::unordered_map<std::uint64_t, std::vector<SkewRow>> base_;
  // In the order of fingerprints, so that the samples do not depend on that of
  // the rows.
  std::map<std::uint64_t, std::vector<SkewRow>> test_;
  std::unordered_set<std::uint64_t> strangers_;
  std::map<std::string, FeatureSkew> features_;
};

}  // namespace

FeatureSkewReport measure_feature_skew(RowSource& base, RowSource& test,
                                       const FeatureSkewOptions& options) {
  WEFT_CHECK(!options.identifiers.empty());
  SkewJoin join(options);
  for_each_row(base, options, "training",
               [&](SkewRow row) { join.add_base(std::move(row)); });
  for_each_row(test, options, "serving",
               [&](SkewRow row) { join.add_test(std::move(row)); });
  return std::move(join).result();
}

}  // namespace weft::validation
