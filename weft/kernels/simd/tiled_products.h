// Products of matrices of f32 or f64 of any size without a library, in blocks
// as Goto and van de Geijn have them ("Anatomy of high-performance matrix
// multiplication", 2008): a panel of the right operand is packed so that the
// second-level cache holds it, and multiplied by rows of the left one where
// these lie.
//
// Sums have one order, whatever the threads.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_TILED_PRODUCTS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_TILED_PRODUCTS_H_
#undef WEFT_KERNELS_SIMD_TILED_PRODUCTS_H_
#else
#define WEFT_KERNELS_SIMD_TILED_PRODUCTS_H_
#endif

#include <algorithm>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/simd/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// A row-major matrix, or its transpose; `stride` is the distance between rows
// as they lie in memory.
template <class T>
LeftTile<T> left_tile(const T* data, std::int64_t stride, bool transpose) {
  return transpose ? LeftTile<T>{data, 1, at(stride)}
                   : LeftTile<T>{data, at(stride), 1};
}

// `count` products c [m, n] = a b, or c += a b, with a [m, k] and b [k, n].
struct TiledSizes {
  std::int64_t m, n, k;
  std::int64_t count = 1;
};
// This is one of them. Element (i, j) of an operand is data[i * row + j *
// step].
template <class T>
struct TiledOperands {
  LeftTile<T> a, b;
  RowTile<T> c;
};

// A panel has so many columns and, at a time, as many rows as its size allows.
// A block has so many rows of the result that packing is little beside them.
inline constexpr std::size_t kPanelBytes = 128 << 10;
inline constexpr std::int64_t kPanelColumns = 128;
template <class T>
inline constexpr std::int64_t kPanelRows =
    std::int64_t{kPanelBytes / sizeof(T)} / kPanelColumns;
inline constexpr std::int64_t kBlockOfRows = 192;
// Each task packs into memory of its own, so that there are not many; their
// number must not depend on that of the threads.
inline constexpr std::int64_t kMostTiledTasks = 16;
inline constexpr std::size_t kMostTiledScratch =
    at(kMostTiledTasks) * kPanelBytes;

struct TiledBlocks {
  std::int64_t rows, panels, all;
  explicit TiledBlocks(const TiledSizes& size)
      : rows((size.m + kBlockOfRows - 1) / kBlockOfRows),
        panels((size.n + kPanelColumns - 1) / kPanelColumns),
        all(rows * panels * size.count) {}
  std::int64_t tasks() const { return std::min(all, kMostTiledTasks); }
};

inline std::size_t tiled_scratch_bytes(const TiledSizes& size) {
  return at(TiledBlocks(size).tasks()) * kPanelBytes;
}

// Rows of b side by side, as tile_product() wants them.
template <class T>
void pack_panel(const LeftTile<T>& b, std::size_t rows, std::size_t columns,
                T* to) {
  if (b.step == 1) {
    for (std::size_t i = 0; i < rows; ++i) {
      std::copy_n(b.data + i * b.row, columns, to + i * columns);
    }
    return;
  }
  // The lines of so few columns stay in the first-level cache also where they
  // are a multiple of its ways apart.
  constexpr std::size_t kColumns = 8;
  for (std::size_t first = 0; first < columns; first += kColumns) {
    const std::size_t last = std::min(columns, first + kColumns);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = first; j < last; ++j) {
        to[i * columns + j] = b.data[i * b.row + j * b.step];
      }
    }
  }
}

// One block of rows by one panel of columns.
template <class T>
void tiled_block(const TiledSizes& size, const TiledOperands<T>& of,
                 std::int64_t row, std::int64_t column, bool adds, T* panel) {
  const std::size_t rows = at(std::min(kBlockOfRows, size.m - row));
  const std::size_t columns = at(std::min(kPanelColumns, size.n - column));
  for (std::int64_t k = 0; k < size.k; k += kPanelRows<T>) {
    const std::size_t depth = at(std::min(kPanelRows<T>, size.k - k));
    pack_panel<T>({of.b.data + at(k) * of.b.row + at(column) * of.b.step,
                   of.b.row, of.b.step},
                  depth, columns, panel);
    tile_product<T>(rows, columns, depth,
                    {of.a.data + at(row) * of.a.row + at(k) * of.a.step,
                     of.a.row, of.a.step},
                    {panel, columns},
                    {of.c.data + at(row) * of.c.row + at(column), of.c.row},
                    adds || k > 0);
  }
}

// `operands(i)` are those of product i; no size is 0. `scratch` has
// tiled_scratch_bytes().
template <class T, class Operands>
void tiled_products(const TiledSizes& size, bool adds, T* scratch,
                    Operands&& operands) noexcept {
  const TiledBlocks blocks(size);
  const std::int64_t tasks = blocks.tasks();
  // A thread is worth waking for some 100,000 multiplications.
  constexpr double kLeast = 1e5;
  const double per_task =
      static_cast<double>(size.m) * static_cast<double>(size.n) *
      static_cast<double>(size.k) * static_cast<double>(size.count) /
      static_cast<double>(tasks);
  parallel_for(tasks, 1 + static_cast<std::int64_t>(kLeast / (per_task + 1)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t task = begin; task < end; ++task) {
                   for (std::int64_t i = task; i < blocks.all; i += tasks) {
                     tiled_block<T>(
                         size, operands(i / (blocks.rows * blocks.panels)),
                         i % blocks.rows * kBlockOfRows,
                         i / blocks.rows % blocks.panels * kPanelColumns, adds,
                         scratch + at(task) * (kPanelBytes / sizeof(T)));
                   }
                 }
               });
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
