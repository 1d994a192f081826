#include <cmath>
#include <limits>

#include "tests/support/against_reference.h"

#include "weft/base/parallel.h"
#include "weft/ops/norm.h"

namespace weft::group_norm_test {
namespace {

OpSample group_sample(const Shape& shape, std::int64_t groups,
                      DType dtype = DType::kF32, double low = -1,
                      double high = 1) {
  const DType wide = dtype == DType::kF64 ? dtype : DType::kF32;
  const Shape channels{shape.back()};
  // A set whose numbers nearly meet would make much of their rounding.
  return {{{{dtype, shape}, low, high},
           {{wide, channels}, 0.5, 2},
           {{wide, channels}}},
          {{"groups", groups}, {"epsilon", 0.1}}};
}

OpSample group_gradient_sample(const Shape& shape, std::int64_t groups,
                               DType dtype = DType::kF32) {
  OpSample sample = group_sample(shape, groups, dtype);
  sample.inputs[2] = {{dtype, shape}};
  return sample;
}

void expect_both_agree(const Shape& shape, std::int64_t groups, DType dtype) {
  // A last bit of f32 decides which of two neighbours in f16 is the nearer.
  const double tolerance = dtype == DType::kF16 ? 1e-3 : 6e-6;
  EXPECT_TRUE(agrees_with_reference("group_norm", "simd:group_norm",
                                    group_sample(shape, groups, dtype),
                                    tolerance));
  EXPECT_TRUE(agrees_with_reference(
      "group_norm_gradient", "simd:group_norm_gradient",
      group_gradient_sample(shape, groups, dtype), tolerance));
}

// Channels that lie side by side in vectors, that fill them, and that leave
// pixels over; one example, and more of them than parts.
TEST(GroupNormKernel, AgreesOnManyShapes) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kBF16, DType::kF16}) {
    for (const Dim channels : {1, 3, 10, 16, 33, 64, 100, 1030}) {
      const std::int64_t groups = channels % 2 == 0 ? 2 : 1;
      expect_both_agree({3, 7, 5, channels}, groups, dtype);
    }
    expect_both_agree({1, 40, 40, 24}, 3, dtype);
    expect_both_agree({300, 2, 6}, 3, dtype);
    expect_both_agree({5, 8}, 4, dtype);
  }
}

TEST(GroupNormKernel, SurvivesAMeanFarFromZero) {
  EXPECT_TRUE(agrees_with_reference(
      "group_norm", "simd:group_norm",
      group_sample({2, 64, 64, 16}, 4, DType::kF32, 999, 1001), 3e-4));
}

// Threads share examples or, where these are few, the pixels of each.
TEST(GroupNormKernel, IsTheSameOnAnyNumberOfThreads) {
  const int threads = thread_count();
  for (const Dim examples : {2, 5}) {
    const Call call("group_norm_gradient",
                    group_gradient_sample({examples, 70, 70, 16}, 4));
    const auto operands = call.random_operands();
    const auto run = [&](int count) {
      set_thread_count(count);
      return call.run(*choose_kernel(call.get()).kernel, operands);
    };
    const auto alone = run(1);
    const auto together = run(3);
    for (int i = 0; i < 3; ++i) {
      EXPECT_TRUE(identical(alone[i], together[i])) << i;
    }
  }
  set_thread_count(threads);
}

TEST(GroupNormKernel, KeepsNanInItsGroup) {
  Tensor x = Tensor::empty({DType::kF32, {2, 3, 4}});
  for (int i = 0; i < 24; ++i) x.data<float>()[i] = static_cast<float>(i % 5);
  x.data<float>()[12 + 1] = std::numeric_limits<float>::quiet_NaN();
  Tensor ones = Tensor::empty({DType::kF32, {4}});
  std::fill_n(ones.data<float>(), 4, 1.f);
  const Tensor y =
      group_norm(Value(x), Value(ones), Value(ones), 2, 1e-5).tensor();
  for (int i = 0; i < 24; ++i) {
    EXPECT_EQ(std::isnan(y.data<float>()[i]), i >= 12 && i % 4 < 2) << i;
  }
}

TEST(GroupNormKernel, LeavesNothingToComputeToTheReference) {
  const Call call("group_norm_gradient", group_gradient_sample({0, 3, 4}, 2));
  const auto kernel = choose_kernel(call.get());
  EXPECT_EQ(kernel.name, "reference");
  const auto gradients = call.run(*kernel.kernel, call.random_operands());
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_EQ(gradients[1].item(i), 0);
}

}  // namespace
}  // namespace weft::group_norm_test
