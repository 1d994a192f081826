#include "tests/support/against_reference.h"

#include "weft/kernels/simd/streaming.h"

namespace weft::running_test {
namespace {

OpSample along(const Shape& shape, DType dtype, std::int64_t axis,
               bool is_exclusive, bool is_reverse) {
  // Whole numbers, whose sums integers hold.
  return {
      {{{dtype, shape}, -9, 9}},
      {{"axis", axis}, {"exclusive", is_exclusive}, {"reverse", is_reverse}}};
}

void expect_agreement_of(const Shape& shape, DType dtype, std::int64_t axis) {
  for (const char* op : {"cumsum", "cumprod"}) {
    for (const bool is_exclusive : {false, true}) {
      for (const bool is_reverse : {false, true}) {
        EXPECT_TRUE(agrees_with_reference(
            op, "cpu:scan", along(shape, dtype, axis, is_exclusive, is_reverse),
            1e-6));
      }
    }
  }
}

// Columns around the boundaries of vectors, of cache lines and of stretches,
// and rows around those that are taken together.
TEST(RunningKernels, AgreeAlongColumnsInEveryDtype) {
  for (const DType dtype :
       {DType::kF32, DType::kF64, DType::kI32, DType::kI64}) {
    for (const Dim columns : {2, 3, 4, 7, 8, 15, 16, 17, 33, 1024, 1031}) {
      expect_agreement_of({2, 9, columns}, dtype, 1);
    }
    for (const Dim rows : {1, 3, 4, 5, 8}) {
      expect_agreement_of({rows, 37}, dtype, 0);
      expect_agreement_of({rows, 37}, dtype, 1);
    }
  }
}

// Lines around those that are taken together, and columns around the widths of
// vectors and of stretches; short enough that nothing outgrows f32.
TEST(RunningKernels, RecurrencesAgreeAlongEveryAxis) {
  for (const DType dtype : {DType::kF32, DType::kF64}) {
    for (const bool is_reverse : {false, true}) {
      const auto agree = [&](const Shape& shape, std::int64_t axis) {
        const InputSample x{{dtype, shape}, -1, 1};
        EXPECT_TRUE(agrees_with_reference(
            "linear_recurrence", "cpu:scan",
            {{x, x}, {{"axis", axis}, {"reverse", is_reverse}}}, 1e-6));
      };
      for (const Dim lines : {0, 1, 3, 4, 5, 9}) agree({lines, 30}, 1);
      for (const Dim columns : {1, 2, 7, 8, 255, 256, 257, 600}) {
        agree({2, 9, columns}, 1);
      }
      agree({3, 0, 2}, 1);
      agree({3000, 100}, 0);
      agree({100, 3000}, 1);
    }
  }
}

// What outgrows the caches is stored past them.
TEST(RunningKernels, AgreeWhereResultsAreStreamed) {
  const auto rows = static_cast<Dim>(
      std::min<std::uint64_t>(least_streamed_bytes(), std::uint64_t{96} << 20) /
          (2 * 1500 * sizeof(float)) +
      1);
  EXPECT_TRUE(agrees_with_reference(
      "cumsum", "cpu:scan", along({rows, 1500}, DType::kF32, 0, true, true),
      1e-6));
}

}  // namespace
}  // namespace weft::running_test
