// Copies elements of any type between two strided layouts: what transpose,
// slice, concat, split, pad, tile and broadcast have in common.
//
// Adjacent axes are merged first; then contiguous runs go through memcpy,
// repeated elements are filled, and a pair of crossed axes is transposed in
// tiles that fit the cache. Long runs of what outgrows the caches are stored
// past them (streaming.h).
//
// Threads: immutable once built; run() uses parallel_for.
#pragma once

#include <array>
#include <cstddef>

#include "weft/kernels/simd/streaming.h"
#include "weft/tensor/shape.h"

namespace weft {

using Strides = std::array<std::int64_t, Shape::kMaxRank>;

class StridedCopy {
 public:
  // Element (i, j, …) of `shape` goes from from_strides · (i, j, …) to
  // to_strides · (i, j, …), counted in elements of `element_bytes`. A stride
  // of 0 in `from` repeats an element; none may be 0 in `to`. Negative ones go
  // down from where the copy begins. Copies that read and write `streamed_from`
  // bytes or more outgrow the caches.
  StridedCopy(std::size_t element_bytes, const Shape& shape,
              const Strides& from_strides, const Strides& to_strides,
              std::uint64_t streamed_from = least_streamed_bytes());

  // The two must not overlap.
  void run(const void* from, void* to) const noexcept;

 private:
  struct Axis {
    std::int64_t extent;
    std::int64_t from;  // bytes
    std::int64_t to;
  };

  std::array<std::int64_t, 2> offsets(std::int64_t index, int axes) const;
  void copy_runs(const std::byte* from, std::byte* to) const;
  template <class Move>
  void move_elements(const std::byte* from, std::byte* to, Move&& move) const;
  template <class T>
  void fill_runs(const std::byte* from, std::byte* to) const;
  template <class T>
  void step_runs(const std::byte* from, std::byte* to) const;
  template <class T, int kStep>
  void step_runs_by(const std::byte* from, std::byte* to) const;
  template <class T>
  void transpose_tiles(const std::byte* from, std::byte* to) const;
  template <class T>
  void run_typed(const std::byte* from, std::byte* to) const;

  std::int64_t element_;
  std::array<Axis, Shape::kMaxRank + 1> axes_;
  int rank_ = 0;
  bool is_empty_ = false;
  bool is_crossed_ = false;  // the last two axes are to be transposed
  bool is_streamed_ = false;
};

}  // namespace weft
