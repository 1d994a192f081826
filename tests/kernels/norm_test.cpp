#include "tests/support/against_reference.h"

#include "weft/base/parallel.h"

namespace weft::norm_test {
namespace {

OpSample image(Shape shape, DType dtype = DType::kF32, double low = -1,
               double high = 1) {
  return {{{{dtype, shape}, low, high}}, {}};
}

TEST(MomentsKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement("moments", "simd:moments", 1e-5);
}

// Channel counts that fold, that fill vectors, and that leave rows over.
TEST(MomentsKernel, AgreesOnManyShapes) {
  for (const Dim channels : {1, 3, 10, 16, 33, 64, 100, 1030}) {
    for (const DType dtype :
         {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
      EXPECT_TRUE(agrees_with_reference(
          "moments", "simd:moments", image({3, 7, 31, channels}, dtype), 1e-5));
    }
  }
}

// The naive E[x^2] - E[x]^2 would lose every digit here.
TEST(MomentsKernel, SurvivesAMeanFarFromZero) {
  const Call call("moments", image({64, 64, 16}, DType::kF32, 999, 1001));
  const auto operands = call.random_operands();
  const auto kernel = candidate("moments", "simd:moments").prepare(call.get());
  const auto fast = call.run(*kernel, operands);
  const auto exact = call.run_reference(operands);
  for (std::int64_t c = 0; c < 16; ++c) {
    EXPECT_NEAR(fast[1].item(c), exact[1].item(c), 1e-4 * exact[1].item(c));
  }
}

TEST(MomentsKernel, IsTheSameOnAnyNumberOfThreads) {
  const Call call("moments", image({40, 32, 32, 16}));
  const auto operands = call.random_operands();
  const auto kernel = candidate("moments", "simd:moments").prepare(call.get());
  const int threads = thread_count();
  set_thread_count(1);
  const auto alone = call.run(*kernel, operands);
  set_thread_count(3);
  const auto together = call.run(*kernel, operands);
  set_thread_count(threads);
  EXPECT_TRUE(identical(alone[0], together[0]));
  EXPECT_TRUE(identical(alone[1], together[1]));
}

}  // namespace
}  // namespace weft::norm_test
