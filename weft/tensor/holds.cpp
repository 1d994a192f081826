#include "weft/tensor/holds.h"

#include <cmath>
#include <limits>

namespace weft {

bool holds(DType dtype, double number) {
  return dispatch(dtype, [&]<class T>(T) {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      // The greatest i64 is no double, but what is above it is: each power of 2
      // is one. NaN and infinities are within no bounds.
      const double above =
          2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
      return number >= static_cast<double>(std::numeric_limits<T>::lowest()) &&
             number < above && number == std::floor(number);
    } else {
      return true;
    }
  });
}

}  // namespace weft
