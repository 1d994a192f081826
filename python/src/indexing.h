// x[key] as NumPy has it: ints, slices, None, ... and one tensor of ints.
//
// Threads: with the GIL.
#pragma once

#include "python/src/bind.h"

namespace weft::python {

// Throws Error(kInvalidArgument) for a key with too many entries, and
// Error(kUnsupported) for masks, backward slices and several tensors.
Value index(const Value& x, const py::handle& key);

}  // namespace weft::python
