// The numbers of tensors as JSON.
//
// Threads: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "weft/tensor/tensor.h"

namespace weft::serve {

// The elements of a list of numbers, nested or flat, in row-major order. `text`
// is whole JSON, and `position` where it stands in the request. Throws
// Refusal(kBadRequest) at `where` with the index of an element that is no
// number of the dtype, or for another number of elements than the type has.
Tensor tensor_of_json(const TensorType& type, std::string_view text,
                      std::size_t position, std::string_view where);

// Appends a flat list.
void append_json(std::string& out, const Tensor& tensor);
// Appends a text in quotes; what is no UTF-8 is replaced.
void append_json(std::string& out, std::string_view text);

}  // namespace weft::serve
