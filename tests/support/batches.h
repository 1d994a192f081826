// Reading a data set without a loader.
#pragma once

#include <vector>

#include "weft/data/dataset.h"

namespace weft::test {

// The rows as one tensor per feature.
inline std::vector<Tensor> read_rows(const Dataset& data,
                                     const std::vector<std::int64_t>& rows) {
  std::vector<Tensor> tensors;
  std::vector<TensorView> views;
  for (const auto& feature : data.features()) {
    Shape shape{static_cast<Dim>(rows.size())};
    for (const Dim dim : feature.type.shape) shape.push_back(dim);
    tensors.push_back(Tensor::zeros({feature.type.dtype, shape}));
    views.push_back(tensors.back().view());
  }
  data.read(rows, views);
  return tensors;
}

}  // namespace weft::test
