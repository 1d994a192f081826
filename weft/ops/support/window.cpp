#include "weft/ops/support/window.h"

#include <limits>

#include "weft/tensor/symbol.h"

namespace weft {
namespace {

const Integers& checked(const OpCall& call, std::string_view name,
                        std::size_t count, std::int64_t least) {
  // Products of two of these, as of a dilation and a kernel, fit 64 bits.
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const Integers& values = call.attributes.integers(name);
  if (values.size() != count) {
    throw call.error("'{}' takes {} numbers, got {}", name, count,
                     values.size());
  }
  for (const std::int64_t value : values) {
    if (value < least) {
      throw call.error("'{}' must be at least {}, got {}", name, least, value);
    }
    if (value > kMost) throw call.error("'{}' is too large: {}", name, value);
  }
  return values;
}

}  // namespace

Window window_of(const OpCall& call, std::int64_t kernel_rows,
                 std::int64_t kernel_columns) {
  const Integers& strides = checked(call, "strides", 2, 1);
  const Integers& padding = checked(call, "padding", 4, 0);
  // Pooling has no dilation: its windows are dense.
  const Integers dilation = call.attributes.find("dilation") != nullptr
                                ? checked(call, "dilation", 2, 1)
                                : Integers{1, 1};
  return {{kernel_rows, strides[0], padding[0], padding[1], dilation[0]},
          {kernel_columns, strides[1], padding[2], padding[3], dilation[1]}};
}

Dim window_count(const OpCall& call, const WindowAxis& axis, Dim size) {
  const Dim padded = dim_add(size, axis.before + axis.after);
  // A dilated window covers its taps and what lies between them.
  const Dim span = dim_add(dim_multiply(axis.dilation, axis.kernel - 1), 1);
  if (!is_symbolic(padded) && padded < span) {
    throw call
        .error("a window of {} does not fit into {} padded pixels", span,
               padded)
        .hint("the image is smaller than the window; add padding");
  }
  // The last window that fits whole is the last one: pixels behind it are not
  // looked at.
  return dim_add(dim_floor_divide(dim_subtract(padded, span), axis.stride), 1);
}

}  // namespace weft
