#include "weft/train/step/parameter_part.h"

namespace weft {

std::vector<ParameterPart> whole_parameters(
    std::span<const NamedTensor> parameters) {
  std::vector<ParameterPart> parts;
  for (const NamedTensor& named : parameters) {
    parts.push_back(
        {parts.size(), 0, static_cast<std::size_t>(named.tensor.size())});
  }
  return parts;
}

}  // namespace weft
