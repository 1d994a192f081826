#include "weft/ops/support/doubles.h"

#include "weft/ops/support/elementwise.h"

namespace weft {

std::vector<double> to_doubles(const TensorView& view) {
  std::vector<double> values(static_cast<std::size_t>(view.size()));
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = load_as<double>(view, static_cast<std::int64_t>(i));
  }
  return values;
}

void from_doubles(const std::vector<double>& values, const TensorView& view) {
  // More values than elements would be written beyond the tensor.
  WEFT_CHECK(static_cast<std::int64_t>(values.size()) == view.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    store_as(view, static_cast<std::int64_t>(i), values[i]);
  }
}

}  // namespace weft
