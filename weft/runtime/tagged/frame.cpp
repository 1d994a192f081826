#include "weft/runtime/tagged/frame.h"

namespace weft {

void Sums::add(int accumulator, Tensor value) {
  Tensor& total = totals[accumulator];
  if (!total.is_defined()) {
    // More is added where the total lies, which nobody else may see.
    total = value.owns_uniquely() ? std::move(value) : value.clone();
    return;
  }
  const std::int64_t size = total.size();
  dispatch(total.dtype(), [&]<class T>(T) {
    T* sum = total.data<T>();
    const T* more = value.data<T>();
    for (std::int64_t i = 0; i < size; ++i) {
      // The class types are the two 16-bit floats. Integers never come here, as
      // accumulate_sums() takes floating results alone.
      if constexpr (std::is_class_v<T>) {
        sum[i] = T(static_cast<float>(sum[i]) + static_cast<float>(more[i]));
      } else if constexpr (std::is_floating_point_v<T>) {
        sum[i] += more[i];
      }
    }
  });
}

Tensor& Sums::total(int accumulator, const TensorType& type) {
  Tensor& total = totals[accumulator];
  if (!total.is_defined()) total = Tensor::zeros(type);
  return total;
}

}  // namespace weft
