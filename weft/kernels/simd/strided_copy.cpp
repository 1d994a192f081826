#include "weft/kernels/simd/strided_copy.h"

#include <algorithm>
#include <cstring>
#include <hwy/highway.h>

#include "weft/base/error.h"
#include "weft/base/parallel.h"

namespace weft {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// Below this a second thread costs more than it saves.
constexpr std::int64_t kBytesPerThread = 128 << 10;
// Longer runs are cut, so that threads can share one.
constexpr std::int64_t kRunBytes = 64 << 10;
// A tile of the widest elements takes 8 KiB, so it stays in the L1 cache.
constexpr std::int64_t kTile = 32;
// Shorter runs have few whole lines between their ends.
constexpr std::int64_t kLeastStreamedRun = 512;
// Tiles side by side, so that what is read of each row is worth a prefetch.
constexpr std::int64_t kStrip = 4 * kTile;

std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }

// memcpy of a size known to the compiler, in a loop over rows.
template <std::size_t kBytes>
void copy_rows(const std::byte* from, std::int64_t from_stride, std::byte* to,
               std::int64_t to_stride, std::int64_t rows) {
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride, kBytes);
  }
}

void copy_rows(const std::byte* from, std::int64_t from_stride, std::byte* to,
               std::int64_t to_stride, std::int64_t rows,
               std::int64_t run_bytes, bool streams) {
  if (streams) {
    for (std::int64_t row = 0; row < rows; ++row) {
      stream_bytes(from + row * from_stride, to + row * to_stride,
                   size(run_bytes));
    }
    return;
  }
  // A copy of a size that is known becomes a move or two, where a call would
  // take longer than a short run.
  switch (run_bytes) {
    case 1:
      return copy_rows<1>(from, from_stride, to, to_stride, rows);
    case 2:
      return copy_rows<2>(from, from_stride, to, to_stride, rows);
    case 4:
      return copy_rows<4>(from, from_stride, to, to_stride, rows);
    case 8:
      return copy_rows<8>(from, from_stride, to, to_stride, rows);
    case 12:
      return copy_rows<12>(from, from_stride, to, to_stride, rows);
    case 16:
      return copy_rows<16>(from, from_stride, to, to_stride, rows);
    case 32:
      return copy_rows<32>(from, from_stride, to, to_stride, rows);
    case 48:
      return copy_rows<48>(from, from_stride, to, to_stride, rows);
    case 64:
      return copy_rows<64>(from, from_stride, to, to_stride, rows);
    case 96:
      return copy_rows<96>(from, from_stride, to, to_stride, rows);
    case 128:
      return copy_rows<128>(from, from_stride, to, to_stride, rows);
    default:
      break;
  }
  for (std::int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_stride, from + row * from_stride,
                size(run_bytes));
  }
}

// Transposes a square of as many elements as a 16-byte vector holds: each
// stage interleaves the first half of the vectors with the second.
template <class T>
void transpose_square(const std::byte* from, std::int64_t from_stride, T* to) {
  constexpr std::size_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kSide> tag;
  using Row = hn::Vec<decltype(tag)>;
  Row first[kSide];
  Row second[kSide];
  for (std::size_t i = 0; i < kSide; ++i) {
    first[i] =
        hn::LoadU(tag, reinterpret_cast<const T*>(
                           from + static_cast<std::int64_t>(i) * from_stride));
  }
  // Two arrays by turns: copying one to the other would stall on its stores.
  Row* rows = first;
  Row* next = second;
  for (std::size_t stage = 1; stage < kSide; stage *= 2) {
    for (std::size_t i = 0; i < kSide / 2; ++i) {
      next[2 * i] = hn::InterleaveLower(tag, rows[i], rows[i + kSide / 2]);
      next[2 * i + 1] = hn::InterleaveUpper(tag, rows[i], rows[i + kSide / 2]);
    }
    std::swap(rows, next);
  }
  for (std::size_t i = 0; i < kSide; ++i) {
    hn::StoreU(rows[i], tag, to + i * kTile);
  }
}

// A tile by way of a buffer: rows of the source stream in, whole cache lines
// of the target stream out, whatever power of two their strides are.
template <class T>
void transpose_tile(const std::byte* from, std::int64_t from_stride,
                    std::byte* to, std::int64_t to_stride, std::int64_t rows,
                    std::int64_t columns) {
  constexpr std::int64_t kSide = 16 / sizeof(T);
  alignas(64) T tile[kTile * kTile];  // transposed: by column
  const std::int64_t square_rows = rows / kSide * kSide;
  const std::int64_t square_columns = columns / kSide * kSide;
  const auto element = [&](std::int64_t row, std::int64_t column) {
    T value;
    std::memcpy(&value,
                from + row * from_stride +
                    column * static_cast<std::int64_t>(sizeof(T)),
                sizeof(T));
    return value;
  };
  // The tile below comes next; its rows are too far apart for the machine to
  // guess.
  for (std::int64_t row = rows; row < rows + kTile; ++row) {
    // Prefetching an address behind the source does no harm: the machine drops
    // it.
    __builtin_prefetch(from + row * from_stride);
    __builtin_prefetch(from + row * from_stride + (kTile - 1) * sizeof(T));
  }
  for (std::int64_t row = 0; row < square_rows; row += kSide) {
    for (std::int64_t column = 0; column < square_columns; column += kSide) {
      transpose_square(from + row * from_stride +
                           column * static_cast<std::int64_t>(sizeof(T)),
                       from_stride, tile + column * kTile + row);
    }
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    // Edges that make no whole square go element by element.
    const std::int64_t done = column < square_columns ? square_rows : 0;
    for (std::int64_t row = done; row < rows; ++row) {
      tile[column * kTile + row] = element(row, column);
    }
  }
  for (std::int64_t column = 0; column < columns; ++column) {
    const T* line = tile + column * kTile;
    // The first copy has a size that the compiler knows.
    if (rows == kTile) {
      std::memcpy(to + column * to_stride, line, kTile * sizeof(T));
    } else {
      std::memcpy(to + column * to_stride, line, size(rows) * sizeof(T));
    }
  }
}

}  // namespace

StridedCopy::StridedCopy(std::size_t element_bytes, const Shape& shape,
                         const Strides& from_strides, const Strides& to_strides,
                         std::uint64_t streamed_from)
    : element_(static_cast<std::int64_t>(element_bytes)) {
  std::int64_t elements = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    elements *= shape[i];
    const Axis axis{shape[i], from_strides[size(i)] * element_,
                    to_strides[size(i)] * element_};
    if (axis.extent == 0) is_empty_ = true;
    // An axis of one element has no stride that matters.
    if (axis.extent == 1) continue;
    if (rank_ > 0) {
      Axis& outer = axes_[size(rank_ - 1)];
      // Both sides step over the whole inner axis at once: the two are one.
      if (outer.from == axis.from * axis.extent &&
          outer.to == axis.to * axis.extent) {
        outer = {outer.extent * axis.extent, axis.from, axis.to};
        continue;
      }
    }
    axes_[size(rank_++)] = axis;
  }
  // A single element, as of a scalar, is one run of one.
  if (rank_ == 0) axes_[size(rank_++)] = {1, element_, element_};
  // Two axes at least, so that loops over rows of runs need no special case.
  if (rank_ == 1) {
    axes_[1] = axes_[0];
    axes_[0] = {1, 0, 0};
    rank_ = 2;
  }
  is_streamed_ =
      static_cast<std::uint64_t>(2 * elements * element_) >= streamed_from &&
      axes_[size(rank_ - 1)].extent * element_ >= kLeastStreamedRun;
  // An outer axis that is contiguous in the source while the last is so in
  // the target: bring it next to the last.
  const Axis& last = axes_[size(rank_ - 1)];
  if (last.to == element_ && last.from != element_ && last.from != 0) {
    for (int i = 0; i + 1 < rank_; ++i) {
      if (axes_[size(i)].from != element_) continue;
      std::rotate(axes_.begin() + i, axes_.begin() + i + 1,
                  axes_.begin() + rank_ - 1);
      is_crossed_ = true;
      break;
    }
  }
}

// Where the `index`-th combination of the first `axes` axes stands.
std::array<std::int64_t, 2> StridedCopy::offsets(std::int64_t index,
                                                 int axes) const {
  std::array<std::int64_t, 2> result{};
  for (int i = axes - 1; i >= 0; --i) {
    const Axis& axis = axes_[size(i)];
    const std::int64_t place = index % axis.extent;
    index /= axis.extent;
    result[0] += place * axis.from;
    result[1] += place * axis.to;
  }
  return result;
}

void StridedCopy::copy_runs(const std::byte* from, std::byte* to) const {
  const Axis& rows = axes_[size(rank_ - 2)];
  const std::int64_t run_bytes = axes_[size(rank_ - 1)].extent * element_;
  std::int64_t outer = 1;
  for (int i = 0; i < rank_ - 1; ++i) outer *= axes_[size(i)].extent;
  // With few long runs, rows alone would leave threads without work.
  if (run_bytes >= 2 * kRunBytes) {
    const std::int64_t pieces = (run_bytes + kRunBytes - 1) / kRunBytes;
    parallel_for(outer * pieces, kBytesPerThread / kRunBytes,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const auto at = offsets(i / pieces, rank_ - 1);
                     const std::int64_t start = i % pieces * kRunBytes;
                     const std::byte* source = from + at[0] + start;
                     std::byte* target = to + at[1] + start;
                     const auto bytes =
                         size(std::min(kRunBytes, run_bytes - start));
                     if (is_streamed_)
                       stream_bytes(source, target, bytes);
                     else
                       std::memcpy(target, source, bytes);
                   }
                   if (is_streamed_) finish_streaming();
                 });
    return;
  }
  // Walks the rows of the last axis but one without dividing.
  const std::int64_t grain = std::max<std::int64_t>(
      1, kBytesPerThread / std::max<std::int64_t>(1, run_bytes));
  parallel_for(outer, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const auto at = offsets(begin, rank_ - 1);
      // A range of rows may begin and end within a block of the last axis but
      // one.
      const std::int64_t count =
          std::min(rows.extent - begin % rows.extent, end - begin);
      copy_rows(from + at[0], rows.from, to + at[1], rows.to, count, run_bytes,
                is_streamed_);
      begin += count;
    }
    if (is_streamed_) finish_streaming();
  });
}

// Calls move(from, to, begin, end, next) for pieces of every run; `next` is
// where the piece behind it begins to read.
template <class Move>
void StridedCopy::move_elements(const std::byte* from, std::byte* to,
                                Move&& move) const {
  WEFT_CHECK(element_ > 0);
  const Axis& last = axes_[size(rank_ - 1)];
  const std::int64_t most = std::max<std::int64_t>(1, kRunBytes / element_);
  const std::int64_t pieces = (last.extent + most - 1) / most;
  std::int64_t outer = pieces;
  for (int i = 0; i < rank_ - 1; ++i) outer *= axes_[size(i)].extent;
  const std::int64_t grain = std::max<std::int64_t>(
      1, kBytesPerThread / (std::min(most, last.extent) * element_));
  parallel_for(outer, grain, [&](std::int64_t begin, std::int64_t end) {
    auto at = offsets(begin / pieces, rank_ - 1);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t start = i % pieces * most;
      const auto next = offsets((i + 1) / pieces, rank_ - 1);
      const std::int64_t next_start = (i + 1) % pieces * most;
      move(from + at[0], to + at[1], start, std::min(last.extent, start + most),
           from + next[0] + next_start * last.from);
      at = next;
    }
    // Once for all runs, as each time waits for memory.
    if (is_streamed_) finish_streaming();
  });
}

template <class T>
void StridedCopy::fill_runs(const std::byte* from, std::byte* to) const {
  move_elements(from, to,
                [](const std::byte* source, std::byte* target,
                   std::int64_t begin, std::int64_t end, const std::byte*) {
                  const T value = *reinterpret_cast<const T*>(source);
                  std::fill(reinterpret_cast<T*>(target) + begin,
                            reinterpret_cast<T*>(target) + end, value);
                });
}

template <class T>
void StridedCopy::step_runs(const std::byte* from, std::byte* to) const {
  const Axis& last = axes_[size(rank_ - 1)];
  move_elements(from, to,
                [&](const std::byte* source, std::byte* target,
                    std::int64_t begin, std::int64_t end, const std::byte*) {
                  for (std::int64_t i = begin; i < end; ++i) {
                    std::memcpy(target + i * last.to, source + i * last.from,
                                sizeof(T));
                  }
                });
}

// A loop whose stride the compiler knows becomes one of vectors.
template <class T, int kStep>
void StridedCopy::step_runs_by(const std::byte* from, std::byte* to) const {
  move_elements(
      from, to,
      [&](const std::byte* source, std::byte* target, std::int64_t begin,
          std::int64_t end, const std::byte* next) {
        const T* all = reinterpret_cast<const T*>(source);
        const T* next_all = reinterpret_cast<const T*>(next);
        // What the next tile reads, or the next run.
        const std::int64_t next_tile =
            std::min(end - begin, std::int64_t{kStreamedTileBytes / sizeof(T)});
        // Elements of a result that were read of one line.
        constexpr std::int64_t kOfLine = std::max<std::int64_t>(
            1, std::int64_t{64 / sizeof(T)} / (kStep < 0 ? -kStep : kStep));
        make_tiles(
            target + begin * element_, end - begin, element_, is_streamed_,
            [&](std::int64_t first, std::int64_t count, std::byte* y) {
              // The machine does not know where to read on at the end of a
              // page, and of a run that goes down. GCC drops calls of what
              // does nothing but prefetch: this loop has to stand here.
              if (is_streamed_) {
                for (std::int64_t i = 0; i < count; i += kOfLine) {
                  const std::int64_t ahead = begin + first + i + next_tile;
                  __builtin_prefetch(ahead < end
                                         ? all + kStep * ahead
                                         : next_all + kStep * (ahead - end));
                }
              }
              const T* x = all + kStep * (begin + first);
              T* results = reinterpret_cast<T*>(y);
              for (std::int64_t i = 0; i < count; ++i) {
                results[i] = x[kStep * i];
              }
            });
      });
}

template <class T>
void StridedCopy::transpose_tiles(const std::byte* from, std::byte* to) const {
  const Axis& across = axes_[size(rank_ - 2)];  // contiguous in the source
  const Axis& along = axes_[size(rank_ - 1)];   // contiguous in the target
  // Strips cut the axis that is strided in the target, so that each thread
  // writes lines of its own.
  const std::int64_t strips = (across.extent + kStrip - 1) / kStrip;
  std::int64_t outer = strips;
  for (int i = 0; i < rank_ - 2; ++i) outer *= axes_[size(i)].extent;
  // A thread is given kBytesPerThread at least: fewer are not worth waking it.
  const std::int64_t grain = std::max<std::int64_t>(
      1, kBytesPerThread /
             (std::min(kStrip, across.extent) * along.extent * element_));
  parallel_for(outer, grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const auto at = offsets(i / strips, rank_ - 2);
      const std::int64_t first = i % strips * kStrip;
      const std::int64_t last = std::min(across.extent, first + kStrip);
      for (std::int64_t row = 0; row < along.extent; row += kTile) {
        const std::int64_t rows = std::min(kTile, along.extent - row);
        for (std::int64_t column = first; column < last; column += kTile) {
          transpose_tile<T>(from + at[0] + column * element_ + row * along.from,
                            along.from,
                            to + at[1] + column * across.to + row * element_,
                            across.to, rows, std::min(kTile, last - column));
        }
      }
    }
  });
}

template <class T>
void StridedCopy::run_typed(const std::byte* from, std::byte* to) const {
  const Axis& last = axes_[size(rank_ - 1)];
  if (is_crossed_) return transpose_tiles<T>(from, to);
  if (last.from == 0 && last.to == element_) return fill_runs<T>(from, to);
  if (last.to == element_) {
    if (last.from == -element_) return step_runs_by<T, -1>(from, to);
    if (last.from == 2 * element_) return step_runs_by<T, 2>(from, to);
    if (last.from == 3 * element_) return step_runs_by<T, 3>(from, to);
    if (last.from == 4 * element_) return step_runs_by<T, 4>(from, to);
  }
  step_runs<T>(from, to);
}

void StridedCopy::run(const void* from, void* to) const noexcept {
  if (is_empty_) return;
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  const Axis& last = axes_[size(rank_ - 1)];
  if (last.from == element_ && last.to == element_) {
    return copy_runs(source, target);
  }
  switch (element_) {
    case 1:
      return run_typed<std::uint8_t>(source, target);
    case 2:
      return run_typed<std::uint16_t>(source, target);
    case 4:
      return run_typed<std::uint32_t>(source, target);
    default:
      return run_typed<std::uint64_t>(source, target);
  }
}

}  // namespace weft
