// Which rows of a tensor tuples of indices name (ops/scatter.h).
#pragma once

#include <array>

#include "weft/ops/support/indexing.h"

namespace weft {

struct NdRows {
  std::int64_t tuples;  // in all batches
  std::int64_t rows;    // of all batches
  std::int64_t width;   // elements of a row
  std::int64_t tuples_per_batch;
  std::int64_t rows_per_batch = 1;
  int depth;  // indices of a tuple
  std::array<std::int64_t, Shape::kMaxRank> sizes{};

  NdRows(const Shape& x, const Shape& indices, std::int64_t batch_dims)
      : depth(static_cast<int>(indices.back())) {
    const int batch_axes = static_cast<int>(batch_dims);
    const std::int64_t batches = product(x.first(batch_axes));
    tuples_per_batch = product(
        indices.last(indices.rank() - batch_axes)
            .first(static_cast<std::size_t>(indices.rank() - batch_axes - 1)));
    for (int i = 0; i < depth; ++i) {
      sizes[static_cast<std::size_t>(i)] = x[batch_axes + i];
      rows_per_batch *= x[batch_axes + i];
    }
    width = product(x.last(x.rank() - batch_axes - depth));
    tuples = batches * tuples_per_batch;
    rows = batches * rows_per_batch;
  }

  // The row that a tuple names; index_at(i) is element i of the indices.
  template <class IndexAt>
  std::int64_t row(std::int64_t tuple, IndexAt&& index_at) const {
    std::int64_t row = 0;
    for (int i = 0; i < depth; ++i) {
      const std::int64_t size = sizes[static_cast<std::size_t>(i)];
      row = row * size + row_of(index_at(tuple * depth + i), size);
    }
    // Mostly there is one batch, and a division takes as long as the rest.
    if (tuples == tuples_per_batch) return row;
    return tuple / tuples_per_batch * rows_per_batch + row;
  }
};

}  // namespace weft
