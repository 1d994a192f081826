// Kernels that keep what they make of weights that never change.
#include <gtest/gtest.h>

#include "tests/support/against_reference.h"
#include "tests/support/op_case.h"

namespace weft::known_operands_test {
namespace {

OpSample sample(std::vector<Shape> shapes, Attributes attributes = {}) {
  OpSample made{{}, std::move(attributes)};
  for (const Shape& shape : shapes) {
    made.inputs.push_back({{DType::kF32, shape}});
  }
  return made;
}

// Results must be those of the reference, and no operand be copied in a run
// that was copied before.
void expect_known_weights(const std::string& op, const std::string& name,
                          const OpSample& sample) {
  const Call call(op, sample);
  SCOPED_TRACE(call.describe());
  const OpCall plain = call.get();
  const auto operands = call.random_operands();
  std::vector<const Tensor*> known(operands.size(), nullptr);
  known[1] = &operands[1];
  const OpCall frozen{plain.op, plain.inputs, plain.attributes, plain.outputs,
                      known};
  const auto kept = candidate(op, name).prepare(frozen);
  const auto each = candidate(op, name).prepare(plain);
  EXPECT_LE(kept->scratch_bytes(), each->scratch_bytes());
  const auto expected = call.run_reference(operands);
  for (int run = 0; run < 2; ++run) {
    const auto results = call.run(*kept, operands);
    testing::expect_close(results[0], expected[0], 1000);
  }
}

TEST(KnownOperands, ConvolutionsKeepTheirWeights) {
  expect_known_weights("conv2d", "onednn:convolution",
                       sample({{1, 9, 9, 32}, {3, 3, 32, 48}, {48}},
                              {{"padding", Integers{1, 1, 1, 1}}}));
  expect_known_weights("conv2d", "onednn:convolution",
                       sample({{2, 7, 7, 5}, {1, 1, 5, 3}}));
}

TEST(KnownOperands, ProductsKeepTheirWeights) {
  for (const Dim rows : {1, 5, 64}) {
    expect_known_weights("matmul", "onednn:matmul",
                         sample({{rows, 70}, {70, 90}, {90}}));
    expect_known_weights(
        "matmul", "onednn:matmul",
        sample({{rows, 70}, {90, 70}}, {{"transpose_b", true}}));
  }
}

}  // namespace
}  // namespace weft::known_operands_test
