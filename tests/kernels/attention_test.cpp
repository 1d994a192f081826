#include "tests/support/against_reference.h"

#include "weft/kernels/simd/bf16_products.h"
#include "weft/ops/ops.h"

namespace weft::attention_test {
namespace {

InputSample matrix(Dim stacks, Dim rows, Dim columns, double bound = 1) {
  return {{DType::kF32, {stacks, rows, columns}}, -bound, bound};
}
InputSample mask(const Shape& shape) {
  return {{DType::kBool, shape}, 0, 1, false};
}

struct AttentionCase {
  Dim queries, keys, width, value_width;
  bool causal = false;
  Shape mask = {};

  Attributes attributes() const { return {{"causal", causal}}; }
};

// Lengths of one tile, of several, and of parts; widths of parts of vectors.
const AttentionCase kCases[] = {
    {64, 64, 64, 64},
    {130, 200, 40, 24},
    {1, 300, 64, 64},
    {65, 63, 7, 9},
    {150, 150, 33, 16, true},
    {200, 70, 16, 16, true},
    {70, 200, 16, 16, true},
    {100, 150, 16, 16, false, {2, 1, 150}},
    {100, 150, 16, 16, false, {100, 150}},
    {150, 130, 16, 16, true, {2, 150, 130}},
};

OpSample attention_sample(const AttentionCase& c, DType dtype) {
  // Scores as large as those of layers that are sure.
  OpSample sample{
      {matrix(2, c.queries, c.width, 3), matrix(2, c.keys, c.width, 3),
       matrix(2, c.keys, c.value_width)},
      c.attributes()};
  for (InputSample& input : sample.inputs) input.type.dtype = dtype;
  if (c.mask.rank() > 0) sample.inputs.push_back(mask(c.mask));
  return sample;
}

OpSample gradient_sample(const AttentionCase& c, DType dtype) {
  OpSample sample{
      {matrix(2, c.queries, c.width), matrix(2, c.keys, c.width),
       matrix(2, c.keys, c.value_width), matrix(2, c.queries, c.value_width),
       matrix(2, c.queries, c.value_width),
       matrix(2, c.queries, c.value_width)},
      c.attributes()};
  for (InputSample& input : sample.inputs) input.type.dtype = dtype;
  sample.inputs[4] = {{DType::kF32, {2, c.queries}}, 4, 6};
  if (c.mask.rank() > 0) sample.inputs.push_back(mask(c.mask));
  return sample;
}

TEST(AttentionKernel, AgreesWithTheReference) {
  for (const AttentionCase& c : kCases) {
    EXPECT_TRUE(agrees_with_reference("attention", "simd:attention",
                                      attention_sample(c, DType::kF32), 1e-5));
  }
}

// Weights are rounded to bf16, as the values are. Where nothing multiplies
// bf16, the kernel says so.
TEST(AttentionKernel, OfBf16AgreesWithTheReference) {
  for (const AttentionCase& c : kCases) {
    EXPECT_EQ(agrees_with_reference("attention", "bf16:attention",
                                    attention_sample(c, DType::kBF16), 4e-3),
              bf16_machine() != nullptr);
  }
}

TEST(AttentionKernel, HeadsInColumnsOfBf16AgreeWithTheReference) {
  int taken = 0;
  for (OpSample sample :
       op_registry().get("multi_head_attention").samples()()) {
    for (InputSample& input : sample.inputs) {
      if (is_floating(input.type.dtype)) input.type.dtype = DType::kBF16;
    }
    taken += agrees_with_reference("multi_head_attention",
                                   "bf16:multi_head_attention", sample, 4e-3);
  }
  EXPECT_EQ(taken > 0, bf16_machine() != nullptr);
}

// Lengths of one part of the keys, and of several.
TEST(AttentionKernel, FewQueriesAgreeWithTheReference) {
  const AttentionCase cases[] = {{1, 700, 64, 64},
                                 {2, 9, 7, 5},
                                 {2, 600, 70, 133},
                                 {2, 300, 16, 16, true},
                                 {2, 513, 16, 16, false, {2, 1, 513}},
                                 {2, 300, 16, 16, false, {2, 300}}};
  for (const DType dtype : {DType::kF32, DType::kBF16, DType::kF16}) {
    for (const AttentionCase& c : cases) {
      const double tolerance = dtype == DType::kF16 ? 1e-3 : 1e-5;
      EXPECT_TRUE(agrees_with_reference("attention", "simd:few_queries",
                                        attention_sample(c, dtype), tolerance));
    }
  }
}

TEST(AttentionKernel, ItsGradientAgreesWithTheReference) {
  for (const AttentionCase& c : kCases) {
    EXPECT_TRUE(agrees_with_reference("attention_gradient",
                                      "simd:attention_gradient",
                                      gradient_sample(c, DType::kF32), 2e-5));
  }
}

TEST(AttentionKernel, ItsGradientOfBf16AgreesWithTheReference) {
  for (const AttentionCase& c : kCases) {
    EXPECT_EQ(
        agrees_with_reference("attention_gradient", "bf16:attention_gradient",
                              gradient_sample(c, DType::kBF16), 4e-3),
        bf16_machine() != nullptr);
  }
}

// There are three queries, so that both dtypes are computed in blocks; whole
// blocks of keys are hidden from them.
TEST(AttentionKernel, AQueryThatLooksAtNoKeyGetsZero) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Value query = full({dtype, {3, 2}}, 2);
    const Value rows = full({dtype, {100, 2}}, 1);
    const Value nothing = full({DType::kBool, {1, 100}}, 0);
    const Tensor y = attention(query, rows, rows, nothing, {}).tensor();
    for (std::int64_t i = 0; i < y.size(); ++i) EXPECT_EQ(y.item(i), 0);
  }
}

// Scores that exp() of f32 would make infinite.
TEST(AttentionKernel, LargeScoresDoNotOverflow) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    const Value query = full({dtype, {3, 1}}, 200);
    const Value rows =
        to_dtype(reshape(iota(130, DType::kF32), {130, 1}), dtype);
    EXPECT_EQ(attention(query, rows, rows).tensor().item(0), 129);
  }
}

TEST(AttentionKernel, MemoryIsLinearInTheLength) {
  const auto scratch = [](const std::string& op, const std::string& kernel,
                          DType dtype, Dim length) {
    const AttentionCase sizes{length, length, 64, 64};
    const Call call(op, op == "attention" ? attention_sample(sizes, dtype)
                                          : gradient_sample(sizes, dtype));
    return candidate(op, kernel + op).prepare(call.get())->scratch_bytes();
  };
  for (const char* op : {"attention", "attention_gradient"}) {
    for (const auto& [kernel, dtype] :
         {std::pair("simd:", DType::kF32), std::pair("bf16:", DType::kBF16)}) {
      EXPECT_LE(scratch(op, kernel, dtype, 8192),
                8 * scratch(op, kernel, dtype, 1024));
    }
  }
}

}  // namespace
}  // namespace weft::attention_test
