// Products of small matrices of f32 or f64, for kernels whose tiles stay in the
// caches: a call of BLAS would spend its time there on packing.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_TILE_PRODUCT_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_TILE_PRODUCT_H_
#undef WEFT_KERNELS_SIMD_TILE_PRODUCT_H_
#else
#define WEFT_KERNELS_SIMD_TILE_PRODUCT_H_
#endif

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// The left operand: element (i, p) is data[i * row + p * step], so that a
// transposed matrix needs no copy.
template <class T>
struct LeftTile {
  const T* data;
  std::size_t row, step;
};
// The right operand and the result have rows that lie side by side.
template <class Element>
struct RowTile {
  Element* data;
  std::size_t row;
};

// The sums of one block live in registers, with the vectors of one row of b
// and one element of a beside them: AVX-512 has 32, AVX2 has 16.
inline constexpr std::size_t kBlockRows = 6;
inline constexpr std::size_t kBlockVectors = kLanes >= 16 ? 4 : 2;
// Rows of narrower blocks: with few sums, additions would wait for each other.
template <std::size_t kVectors>
inline constexpr std::size_t kBlockRowsOf =
    kVectors == kBlockVectors ? kBlockRows
    : kVectors == 3           ? 8
                              : 12;

// kRows rows of c in kVectors vectors. Where `kIsPart`, the last vector has
// only `count` elements.
template <std::size_t kRows, std::size_t kVectors, bool kIsPart, class T>
HWY_INLINE void product_block(std::size_t k, const LeftTile<T>& a,
                              const RowTile<const T>& b, const RowTile<T>& c,
                              std::size_t count, bool adds) {
  const hn::ScalableTag<T> all;
  constexpr std::size_t kEach = kLanesOf<T>;
  const auto part = hn::FirstN(all, count);
  const auto read = [&](const T* p) {
    if constexpr (kIsPart)
      return hn::MaskedLoad(part, all, p);
    else
      return load(p);
  };
  hn::Vec<decltype(all)> sums[kRows][kVectors];
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[i][v] = adds ? read(c.data + i * c.row + v * kEach) : hn::Zero(all);
    }
  }
  for (std::size_t p = 0; p < k; ++p) {
    hn::Vec<decltype(all)> row[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      row[v] = read(b.data + p * b.row + v * kEach);
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      const auto left = hn::Set(all, a.data[i * a.row + p * a.step]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[i][v] = hn::MulAdd(left, row[v], sums[i][v]);
      }
    }
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      T* to = c.data + i * c.row + v * kEach;
      if constexpr (kIsPart)
        hn::BlendedStore(sums[i][v], part, all, to);
      else
        store(sums[i][v], to);
    }
  }
}

// All rows of some columns, in blocks of rows that become smaller.
template <std::size_t kVectors, bool kIsPart, class T>
void product_columns(std::size_t m, std::size_t k, LeftTile<T> a,
                     const RowTile<const T>& b, RowTile<T> c, std::size_t count,
                     bool adds) {
  const auto rows_of = [&]<std::size_t kRows>() {
    for (; m >= kRows; m -= kRows) {
      product_block<kRows, kVectors, kIsPart>(k, a, b, c, count, adds);
      a.data += kRows * a.row;
      c.data += kRows * c.row;
    }
  };
  constexpr std::size_t kMost = kBlockRowsOf<kVectors>;
  rows_of.template operator()<kMost>();
  if constexpr (kMost > kBlockRows) rows_of.template operator()<kBlockRows>();
  rows_of.template operator()<4>();
  rows_of.template operator()<2>();
  rows_of.template operator()<1>();
}

// c [m, n] = a b, or c += a b, with a [m, k] and b [k, n].
template <class T = float>
void tile_product(std::size_t m, std::size_t n, std::size_t k,
                  const LeftTile<T>& a, RowTile<const T> b, RowTile<T> c,
                  bool adds) {
  const auto columns_of =
      [&]<std::size_t kVectors, bool kIsPart>(std::size_t columns) {
        product_columns<kVectors, kIsPart>(m, k, a, b, c, columns, adds);
        b.data += columns;
        c.data += columns;
        n -= columns;
      };
  constexpr std::size_t kEach = kLanesOf<T>;
  constexpr std::size_t kBlock = kBlockVectors * kEach;
  while (n >= kBlock) {
    columns_of.template operator()<kBlockVectors, false>(kBlock);
  }
  if constexpr (kBlockVectors > 2) {
    if (n >= 3 * kEach) columns_of.template operator()<3, false>(3 * kEach);
    if (n >= 2 * kEach) columns_of.template operator()<2, false>(2 * kEach);
  }
  while (n >= kEach) columns_of.template operator()<1, false>(kEach);
  if (n > 0) columns_of.template operator()<1, true>(n);
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
