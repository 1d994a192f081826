// Kernels that keep what they make of weights that never change.
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <limits>

#include "tests/support/against_reference.h"
#include "tests/support/op_case.h"

#include "weft/base/parallel.h"

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

constexpr const char* kPacked = "simd:packed_rows";

// With a matrix, and a bias if there is one, that never change.
std::unique_ptr<PreparedKernel> packed_rows(
    const Call& call, const std::vector<Tensor>& operands) {
  const OpCall plain = call.get();
  const std::vector<const Tensor*> known = {nullptr, &operands[1]};
  return candidate("matmul", kPacked)
      .prepare(
          {plain.op, plain.inputs, plain.attributes, plain.outputs, known});
}

// Columns that fill panels and vectors or not, and rows that fit registers or
// not.
TEST(KnownOperands, FewRowsStreamPackedPanels) {
  for (const Dim rows : {1, 2, 3, 4}) {
    for (const Dim columns : {1, 10, 64, 150, 257}) {
      for (const OpSample& each :
           {sample({{rows, 71}, {71, columns}, {columns}},
                   {{"activation", std::string("relu")}}),
            sample({{rows, 70}, {columns, 70}}, {{"transpose_b", true}})}) {
        const Call call("matmul", each);
        SCOPED_TRACE(call.describe());
        const auto operands = call.random_operands();
        testing::expect_close(
            call.run(*packed_rows(call, operands), operands)[0],
            call.run_reference(operands)[0], 1000);
      }
    }
  }
}

TEST(KnownOperands, PackedRowsAreTheSameOnOneThread) {
  const Call call("matmul", sample({{1, 700}, {700, 900}, {900}}));
  const auto operands = call.random_operands();
  const auto kernel = packed_rows(call, operands);
  const int threads = thread_count();
  set_thread_count(2);
  const Tensor both = call.run(*kernel, operands)[0];
  set_thread_count(1);
  const Tensor alone = call.run(*kernel, operands)[0];
  set_thread_count(threads);
  EXPECT_EQ(std::memcmp(both.raw(), alone.raw(), 900 * sizeof(float)), 0);
}

TEST(KnownOperands, PackedRowsHideNoNan) {
  const Call call("matmul", sample({{1, 3}, {3, 2}},
                                   {{"activation", std::string("relu")}}));
  auto operands = call.random_operands();
  operands[1].data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
  const Tensor y = call.run(*packed_rows(call, operands), operands)[0];
  EXPECT_TRUE(std::isnan(y.data<float>()[0]));
  EXPECT_FALSE(std::isnan(y.data<float>()[1]));
}

TEST(KnownOperands, PackedRowsDeclineWhatChanges) {
  const Call call("matmul", sample({{1, 3}, {3, 2}}));
  EXPECT_EQ(candidate("matmul", kPacked).declines(call.get()),
            "packs weights that never change");
}

}  // namespace
}  // namespace weft::known_operands_test
