// The statistics of one feature as its columns come: how many rows have it, how
// long their lists are, and what the values are.
//
// As long as a feature has few different values they are only counted, which
// costs a hash and a look into a table for each: all else follows from the
// counts in the end, exactly and in an order that no partition of the rows
// changes. Where they become more, sketches take over.
//
// Threads: a value type.
#pragma once

#include <optional>

#include "weft/validation/column_batch.h"
#include "weft/validation/image_counts.h"
#include "weft/validation/value_profile.h"

namespace weft::validation {

// Lengths of lists at one level of nesting.
struct ListLengths {
  std::uint64_t lists = 0;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::uint64_t total = 0;
  QuantileSketch quantiles;

  void add(std::int64_t length, std::uint64_t count);
  void merge(const ListLengths& other);
  void write(StateWriter& out) const;
  static ListLengths read(StateReader& in);
};

class FeatureStatistics {
 public:
  // Values are counted exactly as long as at most `exact_values` are different.
  // Their words are looked for in the vocabulary, if there is one; images among
  // them are decoded if `images` has a place for what they are.
  explicit FeatureStatistics(
      std::size_t exact_values,
      std::shared_ptr<const Vocabulary> vocabulary = nullptr,
      std::optional<ImageCounts> images = {})
      : counts_(exact_values),
        vocabulary_(std::move(vocabulary)),
        images_(std::move(images)) {}

  // `weights` has one for each row, or none. Throws Error(kDataLoss) for lists
  // of another depth than before.
  void add(const Column& column, std::span<const double> weights);
  // Throws Error(kInvalidArgument) for lists of another depth.
  void merge(const FeatureStatistics& other);

  std::uint64_t rows() const { return rows_; }
  double weight() const { return weight_; }
  bool is_typed() const { return is_typed_; }
  const std::vector<ListLengths>& levels() const { return levels_; }
  const ValueCounts& counts() const { return counts_; }
  ValueProfile profile() const;
  const std::optional<ImageCounts>& images() const { return images_; }
  // The number of different values; a sketch's estimate unless
  // counts().is_exact().
  double distinct() const;

  void write(StateWriter& out) const;
  static FeatureStatistics read(
      StateReader& in, std::shared_ptr<const Vocabulary> vocabulary = nullptr);

 private:
  bool has_values() const { return profile_ || counts_.size() > 0; }
  void add_levels(const Column& column);
  void add_values(const Column& column, std::span<const double> weights);
  void add_many(const Column& column, std::size_t from,
                std::span<const double> weights);
  void begin_profile();

  std::uint64_t rows_ = 0;  // that have it
  double weight_ = 0;       // of these
  bool is_typed_ = false;
  std::vector<ListLengths> levels_;
  ValueCounts counts_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  std::optional<ImageCounts> images_;
  std::optional<ValueProfile> profile_;  // where values are too many to count
};

}  // namespace weft::validation
