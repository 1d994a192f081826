// Products of small integers, exact, with sums in i32: what quantized networks
// (quantize.h) spend their time on.
//
// Both have no gradient: integers have none. A network is trained with
// fake_quantize (quantize.h) in its place.
#pragma once

#include "weft/ops/conv.h"
#include "weft/ops/matmul.h"

namespace weft {

// a [..., m, k] of i8 or u8 times b [..., k, n] of i8: [..., m, n] of i32;
// leading dims broadcast. Sums wrap around, which takes k of 66,000 or more.
// (ONNX's MatMulInteger without zero points; of numbers with zero points z_a
// and z_b the product is
//   a b - z_a Σ_k b - z_b Σ_k a + k z_a z_b.)
// Throws Error(kInvalidArgument) for other dtypes, or dims that do not fit.
Value integer_matmul(const Operand& a, const Operand& b,
                     MatmulOptions options = {});

// NHWC images of i8 or u8, convolved with HWIO weights of i8: i32. Padding is
// 0, the integer. Throws as conv2d does (conv.h).
Value integer_conv2d(const Operand& x, const Operand& w,
                     const Conv2dOptions& options = {});

}  // namespace weft
