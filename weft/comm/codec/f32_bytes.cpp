#include "weft/comm/codec/f32_bytes.h"

#include <cmath>

#include "weft/comm/codec/magnitude.h"

namespace weft {

void read_floats(ByteReader& in, std::span<float> values) {
  const auto bytes = in.take(values.size_bytes(), "values");
  // memcpy() must not be given null, even for no bytes.
  if (bytes.empty()) return;
  std::memcpy(values.data(), bytes.data(), bytes.size());
  if (!std::isfinite(largest_magnitude(values))) {
    throw in.damaged("values", "holds a value that is not finite");
  }
}

float read_finite(ByteReader& in, std::string_view field) {
  const auto value = in.read<float>(field);
  if (!std::isfinite(value)) throw in.damaged(field, "is not finite");
  return value;
}

}  // namespace weft
