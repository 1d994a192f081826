#include "tests/support/against_reference.h"

namespace weft::fourier_test {
namespace {

// Powers of two, of all orders of radices, products of small primes, and large
// primes, which go by way of a convolution; rows that fill a group, and part of
// one.
TEST(FourierKernel, AgreesWithTheReference) {
  for (const Dim n : {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 1000, 1001,
                      1009, 2018, 1331}) {
    for (const Dim rows : {1, 5, 35}) {
      const InputSample x{{DType::kF32, {rows, n}}};
      EXPECT_TRUE(agrees_with_reference("rfft", "cpu:fourier", {{x}, {}}, 2e-6))
          << n;
      const InputSample half{{DType::kF32, {rows, n / 2 + 1}}};
      EXPECT_TRUE(agrees_with_reference("irfft", "cpu:fourier",
                                        {{half, half}, {{"size", n}}}, 2e-6))
          << n;
    }
  }
}

}  // namespace
}  // namespace weft::fourier_test
