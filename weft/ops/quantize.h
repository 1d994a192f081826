// Floats as small integers and back: x ≈ (q - zero point) scale.
//
// One scale and zero point serve all elements (a scalar, or one element), or
// one of each stands for every position along `axis` (vectors). That is ONNX's
// QuantizeLinear and DequantizeLinear; the axis is the last one unless said
// otherwise, where channels are. Without a zero point it is 0.
//
// Throw Error(kInvalidArgument) for scales that are no floats, zero points of
// another dtype than the integers or of another shape than the scales, or
// vectors that do not fit the axis.
#pragma once

#include <optional>

#include "weft/graph/context.h"

namespace weft {

struct QuantizeOptions {
  DType dtype = DType::kI8;  // or kU8
  std::int64_t axis = -1;
};

// round(x / scale) + zero point, as i8 or u8: halves go to the even integer,
// what the dtype cannot hold becomes the nearest that it can, NaN becomes 0.
// Computes in the dtype of the scale. It is a step function: no gradient flows.
Value quantize(const Operand& x, const Operand& scale,
               QuantizeOptions options = {});
Value quantize(const Operand& x, const Operand& scale, const Value& zero_point,
               QuantizeOptions options = {});

// (q - zero point) scale, in the dtype of the scale; q is i8, u8, i16 or i32.
// An i32 is the result of a product of quantized numbers, whose scale is the
// product of theirs. The scale has a gradient.
Value dequantize(const Operand& q, const Operand& scale,
                 std::int64_t axis = -1);
Value dequantize(const Operand& q, const Operand& scale,
                 const Value& zero_point, std::int64_t axis = -1);

// dequantize(quantize(x)), in x's dtype, for training what will be quantized.
// Its gradient is not that of the step function, 0, but passes straight
// through where x is within the range of the integers, and is 0 outside
// (Bengio, Léonard and Courville, 2013). None flows to the scale. NaN becomes
// what 0 stands for.
Value fake_quantize(const Operand& x, const Operand& scale,
                    QuantizeOptions options = {});
Value fake_quantize(const Operand& x, const Operand& scale,
                    const Value& zero_point, QuantizeOptions options = {});

}  // namespace weft
