// Parts that are put side by side, in place of zeros that are added up.
//
// The gradient of slices of one value is a sum of unslices, each as large as
// the whole. Where the slices share out an axis, as the gates of a recurrent
// cell do, it is their gradients' concat.
//
// Threads: as FunctionBuilder.
#pragma once

#include <optional>

#include "weft/graph/builder.h"

namespace weft {

// a + b, values of `builder`, as a concat of the parts, if both are sums of
// unslices and all of these fill one axis without overlap; else nothing.
std::optional<Value> joined_slices(FunctionBuilder& builder, const Value& a,
                                   const Value& b);

}  // namespace weft
