// DLPack: tensors change hands between libraries without a copy.
//
// Threads: with the GIL.
// Source:  the ABI of DLPack 1.0, "Python specification for DLPack".
#pragma once

#include "python/src/bind.h"

namespace weft::python {

// What __dlpack__() returns for these arguments: a capsule that keeps the bytes
// alive. Tensors are values, so nobody may write into their bytes: who knows
// DLPack 1.0 (max_version) gets them marked read only, others a copy. Raises
// BufferError where the specification asks for it: no copy is allowed and one
// is needed, or the bytes are wanted on another device.
py::capsule to_dlpack(const Tensor& tensor, const py::object& stream,
                      const py::object& max_version,
                      const py::object& dl_device, const py::object& copy);

// Takes the bytes that object.__dlpack__() offers. Throws
// Error(kUnsupported) unless they are in the memory of the host, of a dtype
// that Weft has, dense and in row-major order.
Tensor from_dlpack(const py::handle& object);

}  // namespace weft::python
