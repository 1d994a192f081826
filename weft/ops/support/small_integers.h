// What the products of small integers have in common.
#pragma once

#include "weft/graph/op.h"

namespace weft {

// Throws through call.error unless input 0 is i8 or u8 and input 1 is i8, as
// the instructions for such products want them.
inline void require_small_integers(const OpCall& call) {
  const DType left = call.input(0).dtype;
  const DType right = call.input(1).dtype;
  if ((left == DType::kI8 || left == DType::kU8) && right == DType::kI8) return;
  throw call
      .error("multiplies i8 or u8 by i8, not {} by {}", to_string(left),
             to_string(right))
      .hint("quantize() makes i8 of floats");
}

}  // namespace weft
