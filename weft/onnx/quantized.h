// Products of quantized numbers, exact in integers.
//
// ONNX's QDQ form puts DequantizeLinear before a product and QuantizeLinear
// behind it. Where the operands' integers are known to be behind the floats,
// the product is one of integers (ops/integer.h) times both scales: the same
// numbers, without the rounding of floats.
//
// Threads: as Context.
#pragma once

#include <optional>

#include "weft/onnx/windows.h"

namespace weft::onnx {

// Σ (a - za)(b - zb) in i32, for a and b of i8 or u8. Zero points are scalars,
// or undefined for 0; that of b may have one for each column of b, that of a
// one for each row of a.
Value integer_product(const Value& a, const Value& za, const Value& b,
                      const Value& zb);
// The same of a convolution; x is [N, spatial…, C] and w [M, C / groups,
// kernel…] in ONNX's order, zw a scalar or one for each of M. Padding stands
// for 0, and so is filled with zx, which must be known where there is any.
Value integer_convolution(const Value& x, const Value& zx, const OnnxValue& w,
                          const Value& zw, const Windows& windows,
                          std::int64_t groups);

// The result of a product of dequantized numbers, in floats; nothing where the
// integers do not lend themselves to it.
std::optional<Value> quantized_convolution(const OnnxValue& x,
                                           const OnnxValue& w,
                                           const Windows& windows,
                                           std::int64_t groups);
std::optional<Value> quantized_matmul(const OnnxValue& a, const OnnxValue& b);

}  // namespace weft::onnx
