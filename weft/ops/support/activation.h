// The fused tail of matmul and conv2d: "+ bias, then relu".
#pragma once

#include <string>
#include <vector>

#include "weft/graph/gradient.h"
#include "weft/graph/op.h"

namespace weft {

// Checks the attribute `activation` ("none" or "relu") and the optional third
// operand, a vector of `channels` in the first operand's dtype, or in f32 where
// that has half the bits. Throws through call.error for others.
void check_tail(const OpCall& call, Dim channels);

// Adds the bias (empty for none) to rows of `channels` and applies the
// activation, as the reference defines it.
void apply_tail(const OpCall& call, const std::vector<double>& bias,
                std::vector<double>& y);

// Whether a call has a bias or an activation.
bool has_tail(const OpCall& call);

// What reaches the linear part: dy where the activation let it through.
Value tail_gradient(const GradientContext& g);
// Appends the bias's gradient when there is one.
void add_bias_gradient(const GradientContext& g, const Value& dy,
                       Gradients& gradients);

}  // namespace weft
