#include "weft/nn/table_row.h"

#include <numeric>

#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/join.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft::nn {
namespace {

std::int64_t sum_of(const std::vector<std::int64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

}  // namespace

TableRow::TableRow(std::int64_t numbers, std::vector<std::int64_t> categories,
                   std::int64_t width)
    : numbers_(numbers), categories_(std::move(categories)), width_(width) {
  if (width < 0) {
    throw Error(ErrorCode::kInvalidArgument, "table row",
                "a category of {} numbers is none", width);
  }
  if (width > 0 && !categories_.empty()) {
    weight_ =
        // One table for all columns makes one lookup of what would be many.
        parameter("weight", {sum_of(categories_), width}, Init::normal(1));
  }
}

std::int64_t TableRow::outputs() const {
  return numbers_ +
         (width_ == 0 ? sum_of(categories_)
                      : static_cast<std::int64_t>(categories_.size()) * width_);
}

Value TableRow::forward(const Value& rows) {
  if (categories_.empty()) return rows;
  const auto columns = static_cast<std::int64_t>(categories_.size());
  const Value numbers = slice_axis(rows, 1, 0, numbers_);
  const Value categories =
      // A row of a table is of floats throughout, which hold the number of
      // every category exactly.
      cast(slice_axis(rows, 1, numbers_, numbers_ + columns), DType::kI32);
  const std::vector<Value> parts{
      numbers, width_ == 0 ? one_of_many(categories) : looked_up(categories)};
  return concat(parts, 1);
}

Value TableRow::one_of_many(const Value& categories) const {
  std::vector<Value> parts;
  for (std::size_t i = 0; i < categories_.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i);
    // -1 is none of them.
    parts.push_back(cast(equal(slice_axis(categories, 1, column, column + 1),
                               iota(categories_[i], DType::kI32)),
                         DType::kF32));
  }
  return concat(parts, 1);
}

Value TableRow::looked_up(const Value& categories) const {
  const Shape& shape = categories.shape();
  // Where each column's rows begin.
  std::vector<Value> first;
  std::int64_t rows = 0;
  for (const std::int64_t count : categories_) {
    first.push_back(full({DType::kI32, {1}}, static_cast<double>(rows)));
    rows += count;
  }
  const Value none = scalar_like(categories, 0);
  const Value vectors = embedding(value_of(weight_),
                                  // What is unknown looks up row 0, which is
                                  // then multiplied by 0: so an index is always
                                  // one of the table.
                                  maximum(categories, none) + concat(first, 0));
  const Value is_known =
      reshape(cast(greater_equal(categories, none), vectors.dtype()),
              {shape[0], shape[1], 1});
  return reshape(vectors * is_known,
                 {shape[0], static_cast<Dim>(categories_.size()) * width_});
}

}  // namespace weft::nn
