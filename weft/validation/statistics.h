// The statistics of a batch of data, in one pass and in memory that does not
// grow with the rows. They can be added up: of parts of the data, by several
// threads or machines (comm_reduction.h), in any order.
//
//   Statistics statistics;
//   while (source->next(batch)) statistics.add(batch);
//   const StatisticsSummary summary = summarize(statistics);
//
// Counts, ends, and everything about features with few different values are
// the same whatever the parts were; moments of the others to rounding, their
// quantiles, distinct counts and frequent values within the bounds that
// quantile_sketch.h, hyper_log_log.h and value_counts.h state.
//
// Threads: a value type.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "weft/validation/feature_statistics.h"

namespace weft::validation {

struct StatisticsOptions {
  // How many different values of a feature are counted exactly.
  std::size_t exact_values = 4096;
  // More for some of them: those whose schema lists as many.
  std::map<std::string, std::size_t> more_values = {};
  // Words that are looked for in the texts of a feature (vocabulary.h).
  std::map<std::string, std::vector<std::string>> vocabularies = {};
  // Features whose images are decoded (image_counts.h).
  std::set<std::string> images = {};
  // A feature that says how often a row counts; none: once.
  std::string weight = {};
  // Features by whose values the rows are sliced: each value has statistics of
  // its own.
  std::vector<std::string> slices = {};
  // A feature that the others are held against (label_association.h); none: no
  // such. It has slices, too, which count towards the most there may be.
  std::string label = {};

  bool operator==(const StatisticsOptions&) const = default;
};

// More slices are names, and not groups.
inline constexpr std::size_t kMostSlices = 1000;
inline constexpr std::size_t kMostFeatures = 65536;

class Statistics {
 public:
  explicit Statistics(StatisticsOptions options = {});

  // Throws Error(kDataLoss) for a weight that is missing or no number of at
  // least 0, and Error(kInvalidArgument) for a weight or slices that are no
  // feature of these rows, or too many slices.
  void add(const ColumnBatch& batch);
  // Throws Error(kInvalidArgument) for statistics with other options.
  void merge(const Statistics& other);

  const StatisticsOptions& options() const { return options_; }
  std::uint64_t rows() const { return rows_; }
  double weight() const { return weight_; }
  // In the order in which they came first.
  const std::vector<std::pair<std::string, FeatureStatistics>>& features()
      const {
    return features_;
  }
  // They are called "feature=value"; those of the label are among them.
  const std::map<std::string, Statistics>& slices() const { return slices_; }

  // What from_bytes() reads back, on any machine of this byte order. Throws
  // Error(kDataLoss) with `where` for damaged bytes.
  std::string to_bytes() const;
  static Statistics from_bytes(std::string_view bytes, std::string_view where);

 private:
  void write(StateWriter& out) const;
  static Statistics read(StateReader& in);
  FeatureStatistics& feature(const std::string& name);
  std::shared_ptr<const Vocabulary> vocabulary_of(
      const std::string& name) const;
  std::vector<double> weights_of(const ColumnBatch& batch) const;
  void add_slices(const ColumnBatch& batch, const std::string& name,
                  std::string_view use);

  StatisticsOptions options_;
  std::uint64_t rows_ = 0;
  double weight_ = 0;
  std::vector<std::pair<std::string, FeatureStatistics>> features_;
  std::map<std::string, std::size_t, std::less<>> places_;
  std::map<std::string, Statistics> slices_;
};

}  // namespace weft::validation
