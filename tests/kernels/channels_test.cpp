#include "tests/support/against_reference.h"

namespace weft::channels_test {
namespace {

OpSample moved(const Shape& shape, const Integers& order,
               DType dtype = DType::kF32) {
  return {{{{dtype, shape}, -100, 100}}, {{"permutation", order}}};
}

// Pixels of whole vectors and of parts, for several threads, several images.
TEST(Channels, AreWovenAndTakenApart) {
  for (const Dim channels : {2, 3, 4}) {
    for (const Dim pixels : {1, 15, 64, 40000}) {
      for (const DType dtype : {DType::kF32, DType::kI32}) {
        EXPECT_TRUE(agrees_with_reference(
            "transpose", "simd:channels",
            moved({2, channels, pixels}, {0, 2, 1}, dtype), 0));
        EXPECT_TRUE(agrees_with_reference(
            "transpose", "simd:channels",
            moved({2, pixels, channels}, {0, 2, 1}, dtype), 0));
      }
    }
    EXPECT_TRUE(agrees_with_reference("transpose", "simd:channels",
                                      moved({2, channels, 9, 7}, {0, 2, 3, 1}),
                                      0));
    EXPECT_TRUE(agrees_with_reference("transpose", "simd:channels",
                                      moved({9, 7, channels}, {-1, 0, 1}), 0));
  }
}

TEST(Channels, DeclineOtherTranspositions) {
  for (const OpSample& sample :
       {moved({2, 3, 4, 5}, {0, 3, 2, 1}), moved({5, 7}, {1, 0}),
        moved({3, 4, 5}, {1, 0, 2}), moved({2, 3, 8}, {0, 1, 2}),
        moved({2, 3, 8}, {0, 2, 1}, DType::kF64),
        moved({0, 3, 8}, {0, 2, 1})}) {
    EXPECT_FALSE(
        agrees_with_reference("transpose", "simd:channels", sample, 0));
  }
}

}  // namespace
}  // namespace weft::channels_test
