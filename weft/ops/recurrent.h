// Recurrent layers over a whole sequence.
//
// All operands are f32, or all f64. `weights` says what the products of the f32
// ones are computed in, where narrow weights are to be served: f32; bf16, to
// which both operands are rounded; or i8, with one scale for each column of the
// weights and for each row of x and of the state. All else stays f32, and such
// a layer has no gradient. Throws Error(kInvalidArgument) for others
// and for shapes that do not fit. Differentiated twice, or where no kernel
// runs, layers are unrolled: that throws Error(kUnsupported) unless the number
// of steps is known and positive.
#pragma once

#include <array>

#include "weft/graph/context.h"

namespace weft {

// x: [steps, batch, inputs]; h and c: [batch, hidden]; w_ih: [inputs,
// 4 hidden]; w_hh: [hidden, 4 hidden]; bias: [4 hidden]. Gates in the order
// input, forget, cell, output (Hochreiter and Schmidhuber 1997; Gers 2000).
// Returns all hidden states [steps, batch, hidden], and the last h and c.
std::array<Value, 3> lstm(const Operand& x, const Operand& h, const Operand& c,
                          const Operand& w_ih, const Operand& w_hh,
                          const Operand& bias, DType weights = DType::kF32);

// Gates in the order reset, update, new (Cho et al. 2014, with the reset gate
// after the product, as cuDNN computes it):
//   n = tanh(x w_in + b_in + r * (h w_hn + b_hn)), h' = (1 - z) n + z h.
// w_ih: [inputs, 3 hidden]; w_hh: [hidden, 3 hidden]; b_ih, b_hh: [3 hidden].
// Returns all hidden states, and the last one.
std::array<Value, 2> gru(const Operand& x, const Operand& h,
                         const Operand& w_ih, const Operand& w_hh,
                         const Operand& b_ih, const Operand& b_hh,
                         DType weights = DType::kF32);

}  // namespace weft
