#include "weft/ops/support/doubles.h"

namespace weft {

std::vector<double> to_doubles(const TensorView& view) {
  return to_numbers<double>(view);
}

void from_doubles(const std::vector<double>& values, const TensorView& view) {
  from_numbers(values, view);
}

}  // namespace weft
