// A part of one parameter's values: of a table some rows, say.
//
// Threads: a value type.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "weft/files/safetensors.h"

namespace weft {

struct ParameterPart {
  std::size_t parameter = 0;  // among those that are trained
  std::size_t begin = 0;      // of its values
  std::size_t size = 0;

  bool operator==(const ParameterPart&) const = default;

  // This part of something that is laid out as the parameter.
  template <class T>
  std::span<T> of(std::span<T> values) const {
    return values.subspan(begin, size);
  }
};

// All of each.
std::vector<ParameterPart> whole_parameters(
    std::span<const NamedTensor> parameters);

}  // namespace weft
