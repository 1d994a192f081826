// Normalisation.
//
// Operands beside x are vectors of x's last axis, f32 (f64 for f64). Throws
// Error(kInvalidArgument) for others, and unless x is floating.
#pragma once

#include <array>
#include <utility>

#include "weft/graph/context.h"

namespace weft {

// Mean and biased variance over all axes but the last, in f32, in one pass
// over the data (chunks combined by Chan, Golub and LeVeque, 1979).
std::pair<Value, Value> moments(const Operand& x);

// y = (x - mean) / sqrt(var + epsilon) * scale + shift per last-axis channel,
// with the batch's own moments (Ioffe and Szegedy, 2015). Returns y, mean and
// biased variance. Scale and shift are f32 also for bf16 images.
std::array<Value, 3> batch_norm(const Operand& x, const Operand& scale,
                                const Operand& shift, double epsilon);
// The same with given moments.
Value batch_norm_infer(const Operand& x, const Operand& scale,
                       const Operand& shift, const Operand& mean,
                       const Operand& variance, double epsilon);
// Normalises over the last axis (Ba, Kiros and Hinton, 2016).
Value layer_norm(const Operand& x, const Operand& scale, const Operand& shift,
                 double epsilon);
// x / sqrt(mean(x^2) + epsilon) * scale over the last axis, without a mean
// taken off (Zhang and Sennrich, 2019).
Value rms_norm(const Operand& x, const Operand& scale, double epsilon);
// Normalises each example [batch, …, channels] over its pixels and each of
// `groups` equal parts of its channels (Wu and He, 2018).
Value group_norm(const Operand& x, const Operand& scale, const Operand& shift,
                 std::int64_t groups, double epsilon);

}  // namespace weft
