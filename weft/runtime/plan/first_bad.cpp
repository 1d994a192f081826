#include "weft/runtime/plan/first_bad.h"

#include <cmath>

#include "weft/tensor/dtype.h"

namespace weft {

std::int64_t first_bad(const TensorType& type, const void* data) {
  if (!is_floating(type.dtype)) return -1;
  return dispatch(type.dtype, [&]<class T>(T) -> std::int64_t {
    const T* values = static_cast<const T*>(data);
    const std::int64_t size = type.shape.num_elements();
    for (std::int64_t i = 0; i < size; ++i) {
      double value = 0;
      if constexpr (std::is_class_v<T>)
        // The 16-bit floats convert to float alone.
        value = static_cast<float>(values[i]);
      else
        value = static_cast<double>(values[i]);
      if (!std::isfinite(value)) return i;
    }
    return -1;
  });
}

}  // namespace weft
