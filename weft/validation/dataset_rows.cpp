#include "weft/validation/dataset_rows.h"

#include <algorithm>
#include <charconv>
#include <numeric>

namespace weft::validation {
namespace {

constexpr std::int64_t kBatchExamples = 256;

// Numbers as texts that read back as the same numbers, one behind the other.
class NumberTexts {
 public:
  template <class Number>
  void add(Number number) {
    constexpr std::size_t kMostDigits = 32;
    const std::size_t begin = text_.size();
    text_.resize(begin + kMostDigits);
    const auto end = std::to_chars(text_.data() + begin,
                                   text_.data() + text_.size(), number);
    text_.resize(static_cast<std::size_t>(end.ptr - text_.data()));
    ends_.push_back(text_.size());
  }

  void put_into(Column& column, ColumnBatch& batch) && {
    const std::string& text = batch.texts.emplace_back(std::move(text_));
    std::size_t begin = 0;
    for (const std::size_t end : ends_) {
      column.values.emplace_back(text.data() + begin, end - begin);
      begin = end;
    }
  }

 private:
  std::string text_;
  std::vector<std::size_t> ends_;
};

void add_numbers(const TensorView& view, std::int64_t from, std::int64_t to,
                 NumberTexts& texts) {
  const auto add = [&]<class Number, class Wide>(Wide) {
    const auto* values = view.as<const Number>();
    for (std::int64_t i = from; i < to; ++i) {
      texts.add(static_cast<Wide>(values[i]));
    }
  };
  switch (view.type.dtype) {
    case DType::kF32:
      return add.operator()<float>(0.0f);
    case DType::kF64:
      return add.operator()<double>(0.0);
    case DType::kF16:
      return add.operator()<float16>(0.0f);
    case DType::kBF16:
      return add.operator()<bfloat16>(0.0f);
    case DType::kI8:
      return add.operator()<std::int8_t>(0);
    case DType::kU8:
    case DType::kBool:
      return add.operator()<std::uint8_t>(0);
    case DType::kI16:
      return add.operator()<std::int16_t>(0);
    case DType::kI32:
      return add.operator()<std::int32_t>(0);
    case DType::kI64:
      return add.operator()<std::int64_t>(std::int64_t{0});
  }
}

class DatasetRows final : public RowSource {
 public:
  explicit DatasetRows(DatasetRef dataset) : dataset_(std::move(dataset)) {
    for (const Feature& feature : dataset_->features()) {
      TensorType type{feature.type.dtype, {kBatchExamples}};
      for (const Dim dim : feature.type.shape) type.shape.push_back(dim);
      tensors_.push_back(Tensor::zeros(type));
    }
  }

  bool next(ColumnBatch& batch) override {
    batch = {};
    const std::int64_t count =
        std::min(kBatchExamples, dataset_->size() - next_);
    if (count <= 0) return false;
    std::vector<std::int64_t> rows(static_cast<std::size_t>(count));
    std::iota(rows.begin(), rows.end(), next_);
    std::vector<TensorView> views;
    for (const Tensor& tensor : tensors_) views.push_back(tensor.view());
    dataset_->read(rows, views);
    batch.rows = count;
    std::size_t size = 0;  // of the axes that vary, of the features before
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      add_feature(dataset_->features()[i], views[i], size, batch);
      size += dataset_->features()[i].varying.size();
    }
    next_ += count;
    return true;
  }

 private:
  void add_feature(const Feature& feature, const TensorView& view,
                   std::size_t first_size, ColumnBatch& batch) {
    Column& column = batch.columns.emplace_back();
    column.name = feature.name;
    column.is_typed = true;
    const auto& shape = feature.type.shape;
    const auto rank = static_cast<std::size_t>(shape.rank());
    column.levels.assign(std::max<std::size_t>(rank, 1), {});
    NumberTexts texts;
    std::vector<std::int64_t> sizes(varying_axes(dataset_->features()));
    for (std::int64_t row = 0; row < batch.rows; ++row) {
      std::vector<std::int64_t> extent(shape.begin(), shape.end());
      if (!sizes.empty()) dataset_->measure(next_ + row, sizes);
      for (std::size_t k = 0; k < feature.varying.size(); ++k) {
        extent[static_cast<std::size_t>(feature.varying[k])] =
            sizes[first_size + k];
      }
      if (rank == 0) column.levels[0].push_back(1);
      const std::int64_t stride = feature.type.shape.num_elements();
      add_axis(feature, view, extent, 0, row * stride, stride, column, texts);
    }
    std::move(texts).put_into(column, batch);
  }

  // The items along one axis; what lies behind the end of an example is left
  // out, as it is padding.
  void add_axis(const Feature& feature, const TensorView& view,
                const std::vector<std::int64_t>& extent, std::size_t axis,
                std::int64_t begin, std::int64_t stride, Column& column,
                NumberTexts& texts) const {
    if (axis == extent.size()) {
      return add_numbers(view, begin, begin + 1, texts);
    }
    const std::int64_t inner =
        stride / feature.type.shape[static_cast<int>(axis)];
    column.levels[axis].push_back(static_cast<std::int32_t>(extent[axis]));
    if (axis + 1 == extent.size()) {
      return add_numbers(view, begin, begin + extent[axis], texts);
    }
    for (std::int64_t i = 0; i < extent[axis]; ++i) {
      add_axis(feature, view, extent, axis + 1, begin + i * inner, inner,
               column, texts);
    }
  }

  DatasetRef dataset_;
  std::vector<Tensor> tensors_;
  std::int64_t next_ = 0;
};

}  // namespace

std::unique_ptr<RowSource> rows_of(DatasetRef dataset) {
  return std::make_unique<DatasetRows>(std::move(dataset));
}

}  // namespace weft::validation
