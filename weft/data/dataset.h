// Examples by index: what every reader becomes and every loader reads.
//
// Threads: immutable once open; read() may be called from several threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

// One part of an example. `type` has no batch axis: u8[28, 28, 1], i32[].
struct Feature {
  std::string name;
  TensorType type;
  // Axes whose size differs from example to example, as the length of sentences
  // does; `type` has the largest.
  std::vector<int> varying = {};
};

// How u8 pixels become numbers: (pixel - mean) / std, per channel, in pixel
// units. Mean 0 and std 255 map to [0, 1].
struct PixelScale {
  std::vector<float> mean;
  std::vector<float> std;
};

// How numbers of a person's unit become numbers of a model's: (x - mean) / std.
struct NumberScale {
  double mean = 0;
  double std = 1;
};

// To mean 0 and standard deviation 1, over `count` values that are shown twice,
// in one order; values that are all the same keep their unit.
class ScaleFit {
 public:
  explicit ScaleFit(std::size_t count = 0)
      : count_(static_cast<double>(count)) {}
  // All values, and then all once more: two passes do not cancel where numbers
  // lie far from 0.
  void add_to_mean(double value) { mean_ += value / count_; }
  void add_to_deviation(double value) {
    variance_ += (value - mean_) * (value - mean_) / count_;
  }
  NumberScale scale() const;

 private:
  double count_;
  double mean_ = 0;
  double variance_ = 0;
};
NumberScale standard_scale(std::span<const double> values);

struct TableSchema;

// What there is to know of data before an example is read: enough to build a
// model for it.
class DataDescription {
 public:
  virtual ~DataDescription() = default;

  const std::string& name() const { return name_; }
  const std::vector<Feature>& features() const { return features_; }

  // What a label means, in order: class names, or the words of a vocabulary; of
  // a label with an axis, what each of its numbers tells to be so (1) or not
  // (0). Empty for regression.
  const std::vector<std::string>& classes() const { return classes_; }

  // The words of what is read, by number: of parse trees, of sentences to be
  // translated; empty for other data.
  const std::vector<std::string>& words() const { return words_; }

  // It is only for images (a u8 feature of rank 3); one entry per channel.
  const PixelScale& pixel_scale() const { return pixel_scale_; }

  // What standardises the targets of regression, by the training part. Labels
  // are read as they are, in the unit of the data.
  const NumberScale& target_scale() const { return target_scale_; }

  // How many categories each of the last columns of the first feature has:
  // such a column holds the number of one, from 0, or -1 for one that the
  // training part has not. Empty where all columns are numbers.
  const std::vector<std::int64_t>& category_counts() const {
    return category_counts_;
  }
  // Where examples lie in blocks, as the row groups of a file, so that to read
  // one reads those beside it: the end of each block. Empty where each stands
  // alone.
  const std::vector<std::int64_t>& blocks() const { return blocks_; }
  // So many of them are shuffled with each other, for which there is memory; 0:
  // all.
  std::int64_t mixed_blocks() const { return mixed_blocks_; }

  // How rows of a table are read (table.h); null for other data.
  const std::shared_ptr<const TableSchema>& table() const { return table_; }

  // True for text that is read as several continuous streams: batch b must
  // hold examples b × lanes() … and the order must not be shuffled.
  bool is_sequential() const { return lanes_ > 0; }
  std::int64_t lanes() const { return lanes_; }

 protected:
  std::string name_;
  std::vector<Feature> features_;
  std::vector<std::string> classes_;
  std::vector<std::string> words_;
  PixelScale pixel_scale_;
  NumberScale target_scale_;
  std::vector<std::int64_t> category_counts_;
  std::vector<std::int64_t> blocks_;
  std::int64_t mixed_blocks_ = 0;
  std::shared_ptr<const TableSchema> table_;
  std::int64_t lanes_ = 0;
};

class Dataset : public DataDescription {
 public:
  std::int64_t size() const { return size_; }

  // Copies example rows[i] into row i of each of `batch`, one view per
  // feature, whose shape is the feature's behind a leading axis of at least
  // rows.size(). Varying axes may be smaller, but hold the largest of the rows:
  // what lies beyond the end of an example is padding, which read() writes too.
  // Every row must be in [0, size()).
  virtual void read(std::span<const std::int64_t> rows,
                    std::span<const TensorView> batch) const = 0;

  // How large the example `row` is along the varying axes, feature by feature,
  // each at least 1 and at most the feature's. Only for data that have some.
  virtual void measure(std::int64_t row, std::span<std::int64_t> sizes) const;

 protected:
  std::int64_t size_ = 0;
};

using DatasetRef = std::shared_ptr<const Dataset>;

// What a reader finds in a folder.
struct DatasetSplits {
  DatasetRef train;
  DatasetRef test;
  DatasetRef valid;  // null where the data has none
};

// The scale that maps 0 … 255 to [0, 1], for `channels` channels.
PixelScale unit_scale(std::int64_t channels);

// How many axes vary, of all features together.
std::size_t varying_axes(std::span<const Feature> features);

// Row `row` of a feature in a batch, as bytes.
std::byte* row_of(const TensorView& feature, std::size_t row);

// A part of another data set, which it keeps alive: row i is row rows[i] of
// `whole`, copied when it is read.
DatasetRef subset(DatasetRef whole, std::vector<std::int64_t> rows);

// Where data comes in one piece, every fifth example (index % 5 == 0) is held
// out for testing.
bool is_held_out(std::int64_t row);
bool is_not_held_out(std::int64_t row);
DatasetSplits hold_out_fifth(const DatasetRef& whole);

}  // namespace weft
