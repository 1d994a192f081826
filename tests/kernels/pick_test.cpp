#include "weft/kernels/simd/pick.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

namespace weft::pick_test {
namespace {

// Near and far differ in their loads alone; counts of every remainder, indices
// from both ends and beyond them.
TEST(Pick, TakesTheSameElementsNearAndFar) {
  for (const std::int64_t size : {1, 3, 1000}) {
    std::vector<std::uint32_t> row(static_cast<std::size_t>(size));
    std::iota(row.begin(), row.end(), 7U);
    for (std::int64_t count = 0; count <= 70; ++count) {
      std::vector<std::int64_t> indices;
      std::vector<std::uint32_t> wanted;
      for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t index = i * 389 % (2 * size + 4) - size - 2;
        const std::int64_t place = index < 0 ? index + size : index;
        indices.push_back(index);
        wanted.push_back(7U + static_cast<std::uint32_t>(std::clamp(
                                  place, std::int64_t{0}, size - 1)));
      }
      for (const bool is_far : {false, true}) {
        // One element more shows a store behind the end.
        std::vector<std::uint32_t> y(static_cast<std::size_t>(count) + 1, 0);
        pick(row.data(), indices.data(), y.data(), count, size, is_far);
        EXPECT_EQ(y.back(), 0U);
        y.pop_back();
        EXPECT_EQ(y, wanted) << count << " of " << size << ", far " << is_far;
      }
    }
  }
}

}  // namespace
}  // namespace weft::pick_test
