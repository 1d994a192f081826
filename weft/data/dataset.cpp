#include "weft/data/dataset.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace weft {
namespace {

class Subset final : public Dataset {
 public:
  Subset(DatasetRef whole, std::vector<std::int64_t> rows)
      : whole_(std::move(whole)), rows_(std::move(rows)) {
    // A part is described as the whole is: the same classes, scales and words.
    static_cast<DataDescription&>(*this) = *whole_;
    // Blocks end where the last of their examples that are here does.
    for (std::int64_t& end : blocks_) {
      end = std::ranges::lower_bound(rows_, end) - rows_.begin();
    }
    // Some examples of running text are no running text.
    lanes_ = 0;
    size_ = static_cast<std::int64_t>(rows_.size());
  }

  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const override {
    // Row by row: the batch's rows need not be neighbours in the whole.
    std::vector<TensorView> views(batch.begin(), batch.end());
    for (TensorView& view : views) view.type.shape[0] = 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      for (std::size_t f = 0; f < batch.size(); ++f) {
        views[f].data = row_of(batch[f], i);
      }
      const std::int64_t row = rows_[static_cast<std::size_t>(rows[i])];
      whole_->read({&row, 1}, views);
    }
  }

  void measure(std::int64_t row, std::span<std::int64_t> sizes) const override {
    whole_->measure(rows_[static_cast<std::size_t>(row)], sizes);
  }

 private:
  DatasetRef whole_;
  std::vector<std::int64_t> rows_;
};

}  // namespace

NumberScale ScaleFit::scale() const {
  // What never varies has nothing to be scaled by. A NaN is kept, to be found.
  return {.mean = mean_, .std = variance_ != 0 ? std::sqrt(variance_) : 1};
}

NumberScale standard_scale(std::span<const double> values) {
  ScaleFit fit(values.size());
  for (const double value : values) fit.add_to_mean(value);
  for (const double value : values) fit.add_to_deviation(value);
  return fit.scale();
}

void Dataset::measure(std::int64_t, std::span<std::int64_t>) const {
  WEFT_CHECK(false, "the examples of '{}' have one size", name());
}

std::size_t varying_axes(std::span<const Feature> features) {
  std::size_t count = 0;
  for (const Feature& feature : features) count += feature.varying.size();
  return count;
}

PixelScale unit_scale(std::int64_t channels) {
  const auto count = static_cast<std::size_t>(channels);
  return {std::vector<float>(count, 0.0f), std::vector<float>(count, 255.0f)};
}

std::byte* row_of(const TensorView& feature, std::size_t row) {
  const Shape& shape = feature.shape();
  const auto elements =
      static_cast<std::size_t>(product(shape.last(shape.rank() - 1)));
  return static_cast<std::byte*>(feature.data) +
         row * elements * size_of(feature.dtype());
}

DatasetRef subset(DatasetRef whole, std::vector<std::int64_t> rows) {
  return std::make_shared<Subset>(std::move(whole), std::move(rows));
}

// Every fifth is taken throughout, as a file may be sorted by its labels.
bool is_held_out(std::int64_t row) { return row % 5 == 0; }
bool is_not_held_out(std::int64_t row) { return !is_held_out(row); }

DatasetSplits hold_out_fifth(const DatasetRef& whole) {
  if (whole->size() == 1) {
    throw Error(ErrorCode::kInvalidArgument, whole->name(),
                "a single example cannot be both trained and measured on");
  }
  std::vector<std::int64_t> train;
  std::vector<std::int64_t> test;
  for (std::int64_t row = 0; row < whole->size(); ++row) {
    (is_held_out(row) ? test : train).push_back(row);
  }
  return {subset(whole, std::move(train)), subset(whole, std::move(test)), {}};
}

}  // namespace weft
