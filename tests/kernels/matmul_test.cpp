#include <algorithm>

#include "tests/support/against_reference.h"

namespace weft {
namespace {

OpSample product(Shape a, Shape b, bool transpose_a, bool transpose_b,
                 DType dtype = DType::kF32) {
  return {{{{dtype, a}}, {{dtype, b}}},
          {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}};
}

TEST(MatmulKernel, AgreesWithTheReferenceOnAllSamples) {
  expect_agreement("matmul", "onednn:matmul", 1e-5);
}

TEST(MatmulKernel, AgreesOnBiggerShapes) {
  for (const DType dtype : {DType::kF32, DType::kBF16}) {
    for (const OpSample& sample :
         {product({65, 130}, {130, 70}, false, false, dtype),
          product({130, 65}, {130, 70}, true, false, dtype),
          product({65, 130}, {70, 130}, false, true, dtype),
          product({130, 65}, {70, 130}, true, true, dtype),
          product({3, 2, 17, 33}, {2, 33, 9}, false, false, dtype),
          product({5, 17, 33}, {5, 9, 33}, false, true, dtype),
          product({5, 33, 17}, {33, 9}, true, false, dtype)}) {
      agrees_with_reference("matmul", "onednn:matmul", sample, 1e-5);
    }
  }
}

TEST(MatmulKernel, WideRowsTakeTheBlasEntry) {
  const OpSample wide = product({7, 40}, {40, 5000}, false, false);
  EXPECT_TRUE(agrees_with_reference("matmul", "onednn:gemm", wide, 1e-5));
  const Call call("matmul", wide);
  EXPECT_EQ(choose_kernel(call.get()).name, "onednn:gemm");
  const Call transposed("matmul", product({40, 7}, {5000, 40}, true, true));
  EXPECT_TRUE(agrees_with_reference("matmul", "onednn:gemm",
                                    transposed.sample(), 1e-5));
}

TEST(MatmulKernel, DoublesAreMultipliedByBlas) {
  for (const OpSample& sample :
       {product({65, 130}, {130, 70}, false, false, DType::kF64),
        product({130, 65}, {70, 130}, true, true, DType::kF64),
        product({3, 2, 17, 33}, {2, 33, 9}, false, false, DType::kF64),
        product({5, 17, 33}, {33, 9}, false, false, DType::kF64),
        product({5, 33, 17}, {9, 33}, true, true, DType::kF64)}) {
    EXPECT_TRUE(agrees_with_reference("matmul", "blas:dgemm", sample, 1e-14));
  }
}

TEST(MatmulKernel, DoublesHaveABiasAndARelu) {
  OpSample sample = product({6, 7}, {7, 9}, false, false, DType::kF64);
  sample.inputs.push_back({{DType::kF64, {9}}});
  EXPECT_TRUE(agrees_with_reference("matmul", "blas:dgemm", sample, 1e-14));
  sample.attributes.set("activation", std::string("relu"));
  EXPECT_TRUE(agrees_with_reference("matmul", "blas:dgemm", sample, 1e-14));
}

TEST(MatmulKernel, ListsWhyCandidatesDeclined) {
  const Call call("matmul", product({3, 0}, {0, 5}, false, false));
  const KernelChoice choice = choose_kernel(call.get());
  EXPECT_EQ(choice.name, "reference");
  EXPECT_EQ(choice.declined.size(), 4u);
  EXPECT_NE(std::find(choice.declined.begin(), choice.declined.end(),
                      "onednn:matmul: an operand is empty"),
            choice.declined.end());
}

}  // namespace
}  // namespace weft
