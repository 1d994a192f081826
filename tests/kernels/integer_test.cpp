// Products of small integers are exact, with the numbers that make sums in 16
// bits saturate, in every kernel that takes them on this machine.
#include "tests/support/against_reference.h"

#include "weft/base/philox.h"

namespace weft::integer_test {
namespace {

constexpr DType kLefts[] = {DType::kI8, DType::kU8};

// They are only the largest and the smallest numbers.
Tensor extremes(const TensorType& type, std::uint32_t stream) {
  Tensor x = Tensor::empty(type);
  const RandomStream random{1, stream, 0};
  dispatch(type.dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T>) {
      for (Dim i = 0; i < x.size(); ++i) {
        const bool is_low = random.word(static_cast<std::uint64_t>(i)) % 4 == 0;
        x.data<T>()[i] = is_low ? std::numeric_limits<T>::min()
                                : std::numeric_limits<T>::max();
      }
    }
  });
  return x;
}

// Checks random operands, and extreme ones.
void expect_exact(const std::string& op, const OpSample& sample) {
  const Call call(op, sample);
  const std::vector<Tensor> operands = {extremes(sample.inputs[0].type, 0),
                                        extremes(sample.inputs[1].type, 1)};
  const auto expected = call.run_reference(operands);
  int taken = 0;
  for (const auto& candidate : kernel_registry().candidates(op)) {
    if (candidate.declines != nullptr && candidate.declines(call.get())) {
      continue;
    }
    ++taken;
    SCOPED_TRACE(candidate.name + call.describe());
    const auto kernel = candidate.prepare(call.get());
    EXPECT_TRUE(identical(call.run(*kernel, operands)[0], expected[0]));
    EXPECT_TRUE(agrees_with_reference(op, candidate.name, sample, 0));
  }
  EXPECT_GT(taken, 0);
}

InputSample integers(DType dtype, const Shape& shape) {
  const bool is_signed = dtype == DType::kI8;
  return {{dtype, shape}, is_signed ? -128. : 0., is_signed ? 127. : 255.};
}

TEST(IntegerKernels, ProductsOfMatricesAreExact) {
  struct Case {
    Shape a, b;
    bool transpose_a = false, transpose_b = false;
  };
  const Case cases[] = {{{1, 64}, {64, 100}},
                        {{50, 127}, {127, 65}},
                        {{130, 300}, {300, 20}},
                        {{7, 90}, {33, 7}, true, true},
                        {{3, 20, 40}, {40, 30}},
                        {{3, 1, 9, 16}, {2, 16, 8}},
                        {{2, 9, 16}, {2, 8, 16}, false, true}};
  for (const DType dtype : kLefts) {
    for (const Case& c : cases) {
      expect_exact(
          "integer_matmul",
          {{integers(dtype, c.a), integers(DType::kI8, c.b)},
           {{"transpose_a", c.transpose_a}, {"transpose_b", c.transpose_b}}});
    }
  }
}

TEST(IntegerKernels, ConvolutionsAreExact) {
  struct Case {
    Shape x, w;
    Attributes attributes;
  };
  const Integers around{1, 1, 1, 1};
  const Case cases[] = {
      {{2, 9, 8, 16}, {3, 3, 16, 32}, {{"padding", around}}},
      {{1, 8, 8, 64}, {1, 1, 64, 70}, {{"strides", Integers{2, 2}}}},
      {{1, 7, 6, 32},
       {3, 3, 1, 32},
       {{"padding", around}, {"groups", std::int64_t{32}}}},
      {{1, 9, 9, 12},
       {3, 3, 6, 20},
       {{"dilation", Integers{2, 2}}, {"groups", std::int64_t{2}}}}};
  for (const DType dtype : kLefts) {
    for (const Case& c : cases) {
      expect_exact(
          "integer_conv2d",
          {{integers(dtype, c.x), integers(DType::kI8, c.w)}, c.attributes});
    }
  }
}

// 70,000 products of 127 · 255 do not fit: the sum wraps around, as i32 does.
TEST(IntegerKernels, SumsWrapAround) {
  constexpr Dim kLong = 70'000;
  expect_exact("integer_matmul", {{integers(DType::kU8, {2, kLong}),
                                   integers(DType::kI8, {kLong, 3})},
                                  {}});
}

}  // namespace
}  // namespace weft::integer_test
