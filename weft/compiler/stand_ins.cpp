#include "weft/compiler/stand_ins.h"

#include <algorithm>
#include <cstring>

#include "weft/graph/frozen.h"

namespace weft {

Tensor stand_in(const TensorType& type, std::size_t number) {
  Tensor tensor = Tensor::empty(type);
  std::memset(tensor.raw(), is_floating(type.dtype) ? 0x3c : 0, type.bytes());
  if (!is_floating(type.dtype)) return tensor;
  // The lowest byte of an element changes its last digits alone: those of the
  // first elements count.
  auto* bytes = static_cast<unsigned char*>(tensor.raw());
  for (std::size_t i = 0; i < type.bytes() && number > 0; number >>= 8) {
    bytes[i] = static_cast<unsigned char>(number);
    i += size_of(type.dtype);
  }
  return tensor;
}

Function StandIns::put(const Function& function, std::size_t first) {
  std::map<std::string, std::size_t> used;  // by type
  Frozen frozen;
  for (std::size_t i = first; i < function.parameters().size(); ++i) {
    const TensorType& type = function.type(function.parameters()[i]);
    const std::string key = to_string(type);
    std::vector<Tensor>& tensors = known_[key];
    const std::size_t number = used[key]++;
    if (number == tensors.size()) tensors.push_back(stand_in(type, number));
    frozen.emplace_back(i, tensors[number]);
  }
  return freeze(function, frozen);
}

}  // namespace weft
