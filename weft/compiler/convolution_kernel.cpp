#include "weft/compiler/convolution_kernel.h"

#include <algorithm>

#include "weft/ops/slice.h"
#include "weft/tensor/symbol.h"

namespace weft {

Integers KernelWindow::middle() const {
  const std::int64_t rows = size[0] / 2;
  const std::int64_t columns = size[1] / 2;
  return {padding[0] - rows, padding[1] - rows, padding[2] - columns,
          padding[3] - columns};
}

std::optional<KernelWindow> window_of(const MatchedNode& convolution) {
  const Attributes& attributes = convolution.attributes();
  const Shape& weights = convolution.operand(1).shape;
  if (attributes.integer("groups") != 1 ||
      attributes.integers("dilation") != Integers{1, 1} ||
      is_symbolic(weights[0]) || is_symbolic(weights[1]) ||
      weights[0] % 2 == 0 || weights[1] % 2 == 0) {
    return std::nullopt;
  }
  return KernelWindow{{weights[0], weights[1]}, attributes.integers("padding")};
}

std::optional<KernelWindow> joined(const KernelWindow& a,
                                   const KernelWindow& b) {
  if (a.middle() != b.middle()) return std::nullopt;
  KernelWindow window;
  for (const std::size_t way : {0u, 1u}) {
    const KernelWindow& larger = a.size[way] >= b.size[way] ? a : b;
    window.size.push_back(larger.size[way]);
    window.padding.push_back(larger.padding[2 * way]);
    window.padding.push_back(larger.padding[2 * way + 1]);
  }
  return window;
}

Value widened(const Value& weights, const Integers& size) {
  const std::int64_t rows = (size[0] - weights.shape()[0]) / 2;
  const std::int64_t columns = (size[1] - weights.shape()[1]) / 2;
  if (rows == 0 && columns == 0) return weights;
  return pad(weights, {rows, columns, 0, 0}, {rows, columns, 0, 0});
}

Attributes with_window(Attributes attributes, const KernelWindow& window) {
  attributes.set("padding", window.padding);
  return attributes;
}

}  // namespace weft
