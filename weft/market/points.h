// Examples of a data set as points with labels, to be valued by their
// neighbours.
//
// Threads: a value type and pure functions.
#pragma once

#include <vector>

#include "weft/data/dataset.h"
#include "weft/market/knn_shapley.h"

namespace weft::market {

struct Points {
  std::vector<float> values;
  std::vector<std::int32_t> labels;
  std::int64_t width = 0;

  LabelledPoints view() const { return {values, labels, width}; }
};

// The first feature of each row, flat, and its class: pixels as a model sees
// them, and for each column of categories as many numbers as it has, one of
// which is 1. Throws Error(kInvalidArgument) for data whose last feature is no
// class, or whose first has no fixed size.
Points points_of(const Dataset& data, const std::vector<std::int64_t>& rows);

}  // namespace weft::market
