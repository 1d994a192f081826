// x[key] as NumPy has it: ints, slices, None, ..., and any number of tensors of
// ints or of bools whose values are known.
//
// Threads: with the GIL.
#pragma once

#include <string>

#include "python/src/bind.h"

namespace weft::python {

// Throws Error(kInvalidArgument) for a key that does not fit, and
// Error(kUnsupported) for a mask that is known only when the function runs.
Value index(const Value& x, const py::handle& key);

// x with `update` in the place of x[key], or x[key] changed by it: the mode is
// "set", "add", "max" or "min". Of places that are named several times, all
// updates count, in order.
Value updated(const Value& x, const py::handle& key, const py::handle& update,
              const std::string& mode);

// x.at, which x.at[key].set(update) begins with.
struct At {
  Value x;
};
void bind_at(py::module_& module);

}  // namespace weft::python
