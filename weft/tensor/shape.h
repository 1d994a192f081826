// The extents of a tensor, outermost first.
//
// A dim is an int64. Non-negative dims are sizes. Negative ones are symbols of
// the graph (see tensor/symbol.h): a Shape carries them but does no arithmetic
// on them, and a tensor in memory never has one.
//
// Threads: a value type.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "weft/base/error.h"

namespace weft {

using Dim = std::int64_t;

class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<Dim> dims) : Shape(std::span(dims)) {}
  // Throws Error(kUnsupported) above kMaxRank dims.
  explicit Shape(std::span<const Dim> dims) {
    for (const Dim dim : dims) push_back(dim);
  }

  int rank() const { return rank_; }
  bool is_scalar() const { return rank_ == 0; }
  Dim operator[](int axis) const {
    return dims_[static_cast<std::size_t>(axis)];
  }
  Dim& operator[](int axis) { return dims_[static_cast<std::size_t>(axis)]; }
  // The last dim, or 1 for a scalar.
  Dim back() const { return rank_ == 0 ? 1 : (*this)[rank_ - 1]; }

  // Both throw Error(kUnsupported) above kMaxRank dims.
  void push_back(Dim dim);
  void resize(int rank, Dim fill = 1);

  const Dim* begin() const { return dims_.data(); }
  const Dim* end() const { return dims_.data() + rank_; }
  std::span<const Dim> dims() const { return {begin(), end()}; }
  std::span<const Dim> first(int count) const {
    return dims().first(size(count));
  }
  std::span<const Dim> last(int count) const {
    return dims().last(size(count));
  }

  // False while a dim is a symbol.
  bool is_static() const;
  // Product of the dims. Requires is_static(). Throws Error(kExhausted) above
  // 2^56, as does product() below.
  std::int64_t num_elements() const;

  bool operator==(const Shape& other) const;

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }

  std::array<Dim, kMaxRank> dims_{};
  int rank_ = 0;
};

// Product of some dims; 1 for none.
std::int64_t product(std::span<const Dim> dims);

// Row-major strides, in elements.
std::array<std::int64_t, Shape::kMaxRank> row_major_strides(const Shape& shape);

// Maps -1 to the last axis, and so on. Throws Error(kInvalidArgument) naming
// `where` when the axis is outside [-rank, rank).
int normalize_axis(std::int64_t axis, int rank, std::string_view where);

}  // namespace weft
