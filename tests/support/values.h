// Small helpers that tests of several modules share.
#pragma once

#include <gtest/gtest.h>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft::test {

// f32 values of a pattern that repeats late: distinct, in [low, high).
Tensor pattern(const Shape& shape, double low = -1, double high = 1,
               std::uint64_t seed = 1);

// Every element as a double, whatever the dtype.
std::vector<double> numbers(const Tensor& tensor);

// Equal within `tolerance`, absolute for small values and relative for large
// ones; says which element differs most.
::testing::AssertionResult near(const Tensor& a, const Tensor& b,
                                double tolerance);

}  // namespace weft::test
