// Operands of products of bf16 (bf16_products.h) from rows of bf16 and from
// sums of f32, and results from sums. They run where bf16_machine() is not
// null.
//
// Threads: pure functions.
#pragma once

#include "weft/kernels/simd/bf16_products.h"

namespace weft {

// Rows of bf16 as they lie in an operand: `step` elements apart.
struct Bf16Rows {
  const bfloat16* data;
  std::size_t step, count, width;
};

// --- Operands of products, with zeros where `x` has no element. -------------

// The left operand x: `rows` rows of `row` elements.
void pack_bf16_rows(const Bf16Rows& x, std::size_t rows, std::size_t row,
                    bfloat16* to);
// The left operand xᵀ: a row of `row` elements for each of `columns` columns.
// `row` is a multiple of kBf16Depth, `columns` of kBf16Side.
void pack_bf16_transposed(const Bf16Rows& x, std::size_t columns,
                          std::size_t row, bfloat16* to);
// The right operand x: `pairs` rows of `row` pairs.
void pack_bf16_pairs(const Bf16Rows& x, std::size_t pairs, std::size_t row,
                     Bf16Pair* to);
// The right operand xᵀ: a row of `row` pairs for each two of x's columns, of
// which there are 2 `pairs`. Both are multiples of kBf16Side.
void pack_bf16_transposed_pairs(const Bf16Rows& x, std::size_t pairs,
                                std::size_t row, Bf16Pair* to);

// --- From sums to operands, rounded to the nearest. --------------------------

// `columns`, a multiple of kBf16Side, of rows that are `row` numbers apart on
// both sides.
void round_to_bf16_rows(const float* x, std::size_t rows, std::size_t columns,
                        std::size_t row, bfloat16* to);
// The same as pairs of rows: half as many rows of `row` pairs.
void round_to_bf16_pairs(const float* x, std::size_t rows, std::size_t columns,
                         std::size_t row, Bf16Pair* to);
// From sums [width, row] to rows of a result: element w of result i is x [w, i]
// times factors [i]. `x` and `factors` have whole tiles.
void round_to_bf16_transposed(const float* x, std::size_t row,
                              const float* factors, std::size_t count,
                              std::size_t width, bfloat16* to,
                              std::size_t step);

}  // namespace weft
