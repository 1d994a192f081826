// Slices whose place is known only when they are taken.
//
// `starts` (i32 or i64) has a start for each axis of x; negative ones count
// from the end. A slice that does not lie inside of x is refused like an index
// outside of its axis (ops/index.h): it is not moved inside, as XLA would do.
//
// Leading axes of `starts` before its last one are axes of x too: x[b…, d…] has
// a slice of its own for each b, at starts[b…].
#pragma once

#include "weft/graph/context.h"

namespace weft {

// x[…, start of d : start + size of d, …] for each axis d.
Value dynamic_slice(const Operand& x, const Operand& starts,
                    const Shape& sizes);
// x with `update` in that place. A plan that may overwrite x writes only there.
Value dynamic_update_slice(const Operand& x, const Operand& update,
                           const Operand& starts);

}  // namespace weft
