#include "weft/tensor/shape.h"

#include <algorithm>
#include <fmt/ranges.h>

namespace weft {

void Shape::push_back(Dim dim) {
  if (rank_ == kMaxRank) {
    // Dims lie in the shape itself, without an allocation: hence the limit.
    throw Error(ErrorCode::kUnsupported, "shape",
                "more than {} dims are not supported", kMaxRank);
  }
  dims_[static_cast<std::size_t>(rank_++)] = dim;
}

void Shape::resize(int rank, Dim fill) {
  rank_ = std::min(rank_, rank);
  while (rank_ < rank) push_back(fill);
}

bool Shape::is_static() const {
  return std::all_of(begin(), end(), [](Dim dim) { return dim >= 0; });
}

std::int64_t Shape::num_elements() const { return product(dims()); }

bool Shape::operator==(const Shape& other) const {
  return std::equal(begin(), end(), other.begin(), other.end());
}

std::int64_t product(std::span<const Dim> dims) {
  // Below this, bytes and bits of the elements are counted by an int64 too.
  constexpr std::int64_t kMost = std::int64_t{1} << 56;
  std::int64_t result = 1;
  bool is_too_large = false;
  for (const Dim dim : dims) {
    WEFT_CHECK(dim >= 0, "a symbolic dim has no size yet");
    if (dim == 0) return 0;
    is_too_large |= __builtin_mul_overflow(result, dim, &result);
  }
  if (is_too_large || result > kMost) {
    throw Error(ErrorCode::kExhausted, "shape",
                "[{}] has more than 2^56 elements, which no memory holds",
                fmt::join(dims, ", "));
  }
  return result;
}

std::array<std::int64_t, Shape::kMaxRank> row_major_strides(
    const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  // Where a dim is 0, the others may be anything, and their product too large.
  std::uint64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(stride);
    stride *= static_cast<std::uint64_t>(shape[axis]);
  }
  return strides;
}

int normalize_axis(std::int64_t axis, int rank, std::string_view where) {
  if (axis < -rank || axis >= rank) {
    throw Error(ErrorCode::kInvalidArgument, where,
                "axis {} is outside [{}, {})", axis, -rank, rank)
        .hint("axis = -1 means the last dimension");
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

}  // namespace weft
