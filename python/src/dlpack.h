// DLPack: tensors change hands between libraries without a copy.
//
// Threads: with the GIL.
// Source:  the ABI of DLPack 0.8, "Python specification for DLPack".
#pragma once

#include "python/src/bind.h"

namespace weft::python {

// A capsule "dltensor" that keeps the bytes alive.
py::capsule to_dlpack(const Tensor& tensor);

// Takes the bytes that object.__dlpack__() offers. Throws
// Error(kUnsupported) unless they are in the memory of the host, of a dtype
// that Weft has, dense and in row-major order.
Tensor from_dlpack(const py::handle& object);

}  // namespace weft::python
