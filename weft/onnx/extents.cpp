#include "weft/onnx/extents.h"

#include "weft/tensor/symbol.h"

namespace weft::onnx {
namespace {

bool has_symbols(Extent a, Extent b) { return a.is_symbolic || b.is_symbolic; }

// Small enough for a sum or a product of two to be a number; a model may hold
// any.
bool is_small(Extent a) {
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  return a.is_symbolic || (a.value <= kMost && a.value >= -kMost);
}
bool are_small(Extent a, Extent b) { return is_small(a) && is_small(b); }

// Dims know no negative numbers but symbols.
bool are_dims(Extent a, Extent b) {
  return (a.is_symbolic || a.value >= 0) && (b.is_symbolic || b.value >= 0);
}

template <class Function>
std::optional<Extent> as_dim(Function&& function) {
  try {
    return Extent::of(function());
  } catch (const Error&) {
    // The result is no size, or too long an expression.
    return std::nullopt;
  }
}

}  // namespace

Shape shape_of(const Extents& extents) {
  Shape shape;
  for (const Extent& extent : extents) {
    if (!extent.is_symbolic && extent.value < 0) {
      throw Error(ErrorCode::kDataLoss, "shape", "a dim is {}", extent.value);
    }
    shape.push_back(extent.value);
  }
  return shape;
}

std::optional<Extent> extent_add(Extent a, Extent b) {
  if (!are_small(a, b)) return std::nullopt;
  if (!has_symbols(a, b)) return Extent{a.value + b.value};
  // "N + -1" is how some exporters subtract.
  if (!a.is_symbolic && a.value < 0) return extent_subtract(b, {-a.value});
  if (!b.is_symbolic && b.value < 0) return extent_subtract(a, {-b.value});
  return as_dim([&] { return dim_add(a.value, b.value); });
}

std::optional<Extent> extent_subtract(Extent a, Extent b) {
  if (!are_small(a, b)) return std::nullopt;
  if (!has_symbols(a, b)) return Extent{a.value - b.value};
  if (!are_dims(a, b)) return std::nullopt;
  return as_dim([&] { return dim_subtract(a.value, b.value); });
}

std::optional<Extent> extent_multiply(Extent a, Extent b) {
  if (!are_small(a, b)) return std::nullopt;
  if (!has_symbols(a, b)) return Extent{a.value * b.value};
  if (!are_dims(a, b)) return std::nullopt;
  return as_dim([&] { return dim_multiply(a.value, b.value); });
}

std::optional<Extent> extent_divide(Extent a, Extent b) {
  if (b == Extent{0} || !are_small(a, b)) return std::nullopt;
  if (!has_symbols(a, b)) return Extent{a.value / b.value};
  if (!are_dims(a, b)) return std::nullopt;
  if (const auto exact = dim_divide_exactly(a.value, b.value)) {
    return Extent::of(*exact);
  }
  if (b.is_symbolic) return std::nullopt;
  return as_dim([&] { return dim_floor_divide(a.value, b.value); });
}

std::optional<Extent> extent_remainder(Extent a, Extent b) {
  const auto quotient = extent_divide(a, b);
  if (!quotient || !are_dims(a, b)) return std::nullopt;
  const auto whole = extent_multiply(*quotient, b);
  return whole ? extent_subtract(a, *whole) : std::nullopt;
}

std::optional<Extent> extent_max(Extent a, Extent b) {
  if (a == b) return a;
  if (!has_symbols(a, b)) return a.value > b.value ? a : b;
  // No size is below 0.
  if (!a.is_symbolic && a.value <= 0) return b;
  if (!b.is_symbolic && b.value <= 0) return a;
  return std::nullopt;
}

std::optional<Extent> extent_min(Extent a, Extent b) {
  if (a == b) return a;
  if (!has_symbols(a, b)) return a.value < b.value ? a : b;
  if (!a.is_symbolic && a.value <= 0) return a;
  if (!b.is_symbolic && b.value <= 0) return b;
  return std::nullopt;
}

std::optional<bool> extents_equal(Extent a, Extent b) {
  if (a == b) return true;
  if (!has_symbols(a, b)) return false;
  if ((!a.is_symbolic && a.value < 0) || (!b.is_symbolic && b.value < 0)) {
    return false;
  }
  return std::nullopt;
}

}  // namespace weft::onnx
