// A function whose gradient is not its own.
//
// Threads: as Context.
#pragma once

#include <functional>

#include "weft/graph/value.h"

namespace weft::nn {

// f(x), of the type of x; what is differentiated passes it as if it were x
// (Bengio, Léonard and Courville, "Estimating or propagating gradients through
// stochastic neurons for conditional computation", 2013): rounding has no
// gradient that a descent could follow. The value is that of f to the bit.
Value straight_through(const Value& x,
                       const std::function<Value(const Value&)>& f);

}  // namespace weft::nn
