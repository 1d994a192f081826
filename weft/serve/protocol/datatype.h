// Dtypes under the names of the open inference protocol.
//
// Threads: pure functions.
#pragma once

#include <string_view>

#include "weft/tensor/tensor.h"

namespace weft::serve {

// "FP32", "INT64", "BOOL", ….
std::string_view protocol_name(DType dtype);
// Throws Refusal(kBadRequest) at `where` for a name of the protocol that Weft
// has no dtype for, and for any other.
DType protocol_dtype(std::string_view name, std::string_view where);

// The shape of a request. Throws Refusal(kBadRequest) at `where` for negative
// dims, more than there may be, and for sizes beyond `most_bytes`.
TensorType checked_type(DType dtype, std::span<const std::int64_t> dims,
                        std::size_t most_bytes, std::string_view where);

// A tensor of these very bytes, little-endian, row-major. Throws
// Refusal(kBadRequest) at `where` for another number of bytes, and for a bool
// that is neither 0 nor 1.
Tensor tensor_of_bytes(const TensorType& type, std::string_view bytes,
                       std::string_view where);
std::string_view bytes_of(const Tensor& tensor);

}  // namespace weft::serve
