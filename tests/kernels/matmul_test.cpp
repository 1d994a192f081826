#include "tests/support/against_reference.h"

namespace weft::matmul_test {
namespace {

OpSample product(Shape a, Shape b, bool transpose_a, bool transpose_b,
                 DType dtype = DType::kF32) {
  return {{{{dtype, a}}, {{dtype, b}}},
          {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}}};
}

// The product as it is, and with a bias and a relu behind it.
void expect_agreement_with_tail(const std::string& kernel, OpSample sample,
                                double tolerance) {
  EXPECT_TRUE(agrees_with_reference("matmul", kernel, sample, tolerance));
  const TensorType& b = sample.inputs[1].type;
  const Dim columns = sample.attributes.flag("transpose_b") ? b.shape.end()[-2]
                                                            : b.shape.back();
  sample.inputs.push_back({{b.dtype, {columns}}});
  sample.attributes.set("activation", std::string("relu"));
  EXPECT_TRUE(agrees_with_reference("matmul", kernel, sample, tolerance));
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

// Sizes beyond a panel and a block of rows, and such that fill none.
TEST(MatmulKernel, TilesAgree) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kF32, 1e-5), std::pair(DType::kF64, 1e-13)}) {
    for (const OpSample& sample :
         {product({200, 300}, {300, 150}, false, false, dtype),
          product({300, 200}, {150, 300}, true, true, dtype),
          product({1, 1}, {1, 1}, false, false, dtype),
          product({3, 2, 17, 33}, {2, 33, 9}, false, false, dtype),
          product({5, 1, 17, 33}, {7, 9, 33}, false, true, dtype),
          product({5, 33, 17}, {33, 9}, true, false, dtype)}) {
      expect_agreement_with_tail("simd:tiles", sample, tolerance);
    }
  }
}

// Sizes that fill no vector and no block of rows, and stacks that threads
// share.
TEST(MatmulKernel, SmallOnesAgree) {
  for (const auto& [dtype, tolerance] :
       {std::pair(DType::kF32, 1e-5), std::pair(DType::kF64, 1e-13)}) {
    for (const OpSample& sample :
         {product({10, 2}, {2, 10}, false, false, dtype),
          product({1, 1}, {1, 1}, false, false, dtype),
          product({64, 64}, {64, 64}, false, false, dtype),
          product({33, 47}, {33, 31}, true, false, dtype),
          product({33, 47}, {47, 33}, true, true, dtype),
          product({3, 2, 17, 33}, {2, 33, 19}, false, false, dtype),
          product({500, 1, 17, 9}, {2, 13, 9}, false, true, dtype),
          product({5, 33, 17}, {33, 19}, true, false, dtype)}) {
      expect_agreement_with_tail("simd:small", sample, tolerance);
    }
  }
}

TEST(MatmulKernel, SmallOnesAreOurs) {
  const auto chosen = [](const OpSample& sample) {
    return choose_kernel(Call("matmul", sample).get()).name;
  };
  EXPECT_EQ(chosen(product({10, 10}, {10, 2}, false, false)), "simd:small");
  EXPECT_EQ(chosen(product({64, 64}, {64, 64}, false, false)), "simd:small");
  EXPECT_EQ(chosen(product({32, 32}, {32, 32}, true, true)), "simd:small");
  // More than a cache holds, vectors with two elements each, and as many moved
  // as are multiplied.
  EXPECT_NE(chosen(product({65, 64}, {64, 64}, false, false)), "simd:small");
  EXPECT_NE(chosen(product({80, 80}, {80, 2}, false, false)), "simd:small");
  EXPECT_NE(chosen(product({1, 64}, {64, 64}, false, true)), "simd:small");
}

TEST(MatmulKernel, WideRowsTakeTheBlasEntry) {
  const OpSample wide = product({12, 40}, {40, 5000}, false, false);
  EXPECT_TRUE(agrees_with_reference("matmul", "onednn:gemm", wide, 1e-5));
  const Call call("matmul", wide);
  EXPECT_EQ(choose_kernel(call.get()).name, "onednn:gemm");
  const Call transposed("matmul", product({40, 12}, {5000, 40}, true, true));
  EXPECT_TRUE(agrees_with_reference("matmul", "onednn:gemm",
                                    transposed.sample(), 1e-5));
}

TEST(MatmulKernel, F64IsBlasOrTiles) {
  for (const OpSample& sample :
       {product({65, 130}, {130, 70}, false, false, DType::kF64),
        product({130, 65}, {70, 130}, true, true, DType::kF64),
        product({3, 2, 17, 33}, {2, 33, 9}, false, false, DType::kF64),
        product({5, 1, 17, 33}, {7, 9, 33}, false, true, DType::kF64),
        product({5, 33, 17}, {33, 9}, true, false, DType::kF64)}) {
    expect_agreement_with_tail("openblas:gemm", sample, 1e-13);
    // What a cache holds, as each matrix of the stacks, is not left to it, and
    // nor is what is too small to be measured.
    EXPECT_EQ(
        choose_kernel(Call("matmul", sample).get()).name,
        sample.inputs[0].type.shape.rank() == 2 ? "simd:tiles" : "simd:small");
  }
  const OpSample large =
      product({130, 140}, {140, 150}, false, false, DType::kF64);
  EXPECT_EQ(choose_kernel(Call("matmul", large).get()).name, "openblas:gemm");
}

// Every machine that runs this has AVX2.
TEST(MatmulKernel, BlasIsNotThatOfAPentium) {
  const std::string name = kernel_libraries();
  EXPECT_EQ(name.find("Prescott"), std::string::npos) << name;
}

// Rows or columns from one to fifteen, in every layout; sizes that fill blocks
// and vectors, and such that do not.
TEST(MatmulKernel, FewRowsAgree) {
  for (const DType dtype : {DType::kF32, DType::kF64, DType::kBF16}) {
    const double tolerance = dtype == DType::kF64 ? 1e-13 : 1e-5;
    for (const Dim few : {1, 5, 8, 15}) {
      for (const Dim many : {1, 9, 530}) {
        for (const Dim inner : {1, 139}) {
          for (const bool left : {false, true}) {
            for (const bool right : {false, true}) {
              const auto sides = [](Dim rows, Dim columns, bool transpose) {
                return transpose ? Shape{columns, rows} : Shape{rows, columns};
              };
              expect_agreement_with_tail(
                  "simd:few_rows",
                  product(sides(few, inner, left), sides(inner, many, right),
                          left, right, dtype),
                  tolerance);
              expect_agreement_with_tail(
                  "simd:few_rows",
                  product(sides(many, inner, left), sides(inner, few, right),
                          left, right, dtype),
                  tolerance);
            }
          }
        }
      }
    }
  }
}

TEST(MatmulKernel, OneRowOfManyBlocksAgrees) {
  EXPECT_TRUE(agrees_with_reference("matmul", "simd:few_rows",
                                    product({1, 20}, {20, 9001}, false, false),
                                    1e-5));
}

TEST(MatmulKernel, FewRowsTakeAllSamples) {
  expect_agreement("matmul", "simd:few_rows", 1e-5);
}

TEST(MatmulKernel, ListsWhyCandidatesDeclined) {
  const Call call("matmul", product({300, 4}, {4, 50}, false, false));
  const KernelChoice choice = choose_kernel(call.get());
  EXPECT_EQ(choice.name, "onednn:matmul");
  ASSERT_EQ(choice.declined.size(), 4u);
  EXPECT_EQ(choice.declined[0],
            "simd:small: takes matrices of up to 12288 elements together");
  EXPECT_EQ(choice.declined[1],
            "simd:packed_rows: packs weights that never change");
  EXPECT_EQ(choice.declined[2],
            "simd:few_rows: takes up to 16 rows or columns");
  EXPECT_EQ(choice.declined[3],
            "onednn:gemm: pays for up to 64 rows, rows of 4096 on, or much of "
            "both");
}

}  // namespace
}  // namespace weft::matmul_test
