// Tensors that are typed on the command line.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft::cli {

// A number or nested lists of numbers, as JSON. Throws Error(kInvalidArgument)
// that quotes the text for anything else, and for a number that the dtype has
// not: outside of its range, or no integer where integers are due.
Tensor parse_tensor(const std::string& text, DType dtype);

// NAME=VALUE texts by name. Throws Error(kInvalidArgument) naming `option` for
// another text.
std::map<std::string, std::string> named_texts(
    const std::string& option, const std::vector<std::string>& texts);

}  // namespace weft::cli
