// Products and convolutions of which each channel of the result is scaled: that
// is a part of their weights.
//
// Threads: pure functions.
#pragma once

#include "weft/compiler/rule.h"

namespace weft {

// A matmul with a matrix, or a conv2d, with nothing behind it but a bias or
// none, whose weights have the precision of scales. bf16 images may have f32
// weights, which are rounded once, after they were scaled.
bool can_be_scaled(const MatchedNode& heavy);

// Whether `type` has one number for each channel of `whole`, of its dtype.
bool is_of_channels(const TensorType& type, const TensorType& whole);
// What is_of_channels() holds for, as a vector.
Value as_vector(const Value& channels);

// The vector as it broadcasts to the weights of `heavy`.
Value along_weights(const MatchedNode& heavy, const Value& vector);

}  // namespace weft
