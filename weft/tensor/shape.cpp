#include "weft/tensor/shape.h"

#include <algorithm>

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
  std::int64_t result = 1;
  for (const Dim dim : dims) {
    WEFT_CHECK(dim >= 0, "a symbolic dim has no size yet");
    result *= dim;
  }
  return result;
}

std::array<std::int64_t, Shape::kMaxRank> row_major_strides(
    const Shape& shape) {
  std::array<std::int64_t, Shape::kMaxRank> strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
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
