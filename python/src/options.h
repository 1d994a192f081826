// Keyword arguments as the options of a model or an optimizer.
//
// Threads: with the GIL.
#pragma once

#include "python/src/bind.h"

#include "weft/base/options.h"

namespace weft::python {

// Throws Error(kInvalidArgument) for a value that no option can have.
Options options_from(const py::kwargs& keywords);

}  // namespace weft::python
