// Products of matrices of small integers, exact on any processor: numbers are
// widened to i16 and multiplied in pairs, the sums of which fit i32 (vpmaddwd
// on x86). The instruction for pairs of i8, vpmaddubsw, saturates its sums.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_SIMD_WIDENING_PRODUCT_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_SIMD_WIDENING_PRODUCT_H_
#undef WEFT_KERNELS_SIMD_WIDENING_PRODUCT_H_
#else
#define WEFT_KERNELS_SIMD_WIDENING_PRODUCT_H_
#endif

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "weft/kernels/simd/tile_product.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::simd {

// Columns of the right operand that are multiplied at a time. Their sums live
// in registers for kBlockRows rows.
inline constexpr std::int64_t kPanel =
    static_cast<std::int64_t>(kBlockVectors * kLanes);

inline std::int64_t pairs_of(std::int64_t k) { return (k + 1) / 2; }
inline std::int64_t panels_of(std::int64_t n) {
  return (n + kPanel - 1) / kPanel;
}
// Numbers of a packed panel.
inline std::int64_t panel_size(std::int64_t k) {
  return pairs_of(k) * kPanel * 2;
}

// A matrix of i8: element (p, c) is data[p * row + c * column].
struct SmallMatrix {
  const std::int8_t* data;
  std::int64_t row, column;
};

// `columns` columns from `first` on, of k rows: for each pair of rows, the
// pairs of all columns of the panel. What is missing is 0.
inline void pack_panel(const SmallMatrix& b, std::int64_t k, std::int64_t first,
                       std::int64_t columns, std::int16_t* to) {
  const std::int8_t* from = b.data + first * b.column;
  for (std::int64_t p = 0; p < k; p += 2, to += 2 * kPanel) {
    const std::int8_t* upper = from + p * b.row;
    // Where the last row has no partner, its own numbers count 0 times.
    const std::int8_t* lower = p + 1 < k ? upper + b.row : upper;
    const int times = p + 1 < k ? 1 : 0;
    const auto pack = [&](std::int64_t step) {
      for (std::int64_t c = 0; c < columns; ++c) {
        to[2 * c] = upper[c * step];
        to[2 * c + 1] = static_cast<std::int16_t>(times * lower[c * step]);
      }
    };
    if (b.column == 1)
      pack(1);  // of which the compiler makes vectors
    else
      pack(b.column);
    std::fill_n(to + 2 * columns, 2 * (kPanel - columns), std::int16_t{0});
  }
}

// kRows rows of c = a b, where rows of a are pairs of i16, `pairs` of them, and
// b is a panel of which `columns` count.
template <std::size_t kRows>
HWY_INLINE void widening_block(std::int64_t pairs, const std::int16_t* a,
                               const std::int16_t* panel, std::int64_t columns,
                               std::int32_t* c, std::int64_t c_row) {
  const hn::ScalableTag<std::int32_t> words;
  const hn::ScalableTag<std::int16_t> halves;
  using Words = hn::Vec<hn::ScalableTag<std::int32_t>>;
  Words even[kRows][kBlockVectors];
  Words odd[kRows][kBlockVectors];  // x86 leaves these alone
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t v = 0; v < kBlockVectors; ++v) {
      even[i][v] = odd[i][v] = hn::Zero(words);
    }
  }
  for (std::int64_t p = 0; p < pairs; ++p) {
    hn::Vec<hn::ScalableTag<std::int16_t>> right[kBlockVectors];
    for (std::size_t v = 0; v < kBlockVectors; ++v) {
      right[v] = hn::LoadU(halves, panel + p * kPanel * 2 + v * 2 * kLanes);
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      std::int32_t pair;
      std::memcpy(&pair, a + (static_cast<std::int64_t>(i) * pairs + p) * 2,
                  sizeof pair);
      const auto left = hn::BitCast(halves, hn::Set(words, pair));
      for (std::size_t v = 0; v < kBlockVectors; ++v) {
        even[i][v] = hn::ReorderWidenMulAccumulate(words, left, right[v],
                                                   even[i][v], odd[i][v]);
      }
    }
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    std::int32_t* row = c + static_cast<std::int64_t>(i) * c_row;
    for (std::size_t v = 0; v < kBlockVectors; ++v) {
      const auto begin = static_cast<std::int64_t>(v * kLanes);
      if (begin >= columns) break;
      const auto sum = hn::RearrangeToOddPlusEven(even[i][v], odd[i][v]);
      if (columns - begin >= static_cast<std::int64_t>(kLanes)) {
        hn::StoreU(sum, words, row + begin);
      } else {
        const auto count = static_cast<std::size_t>(columns - begin);
        hn::BlendedStore(sum, hn::FirstN(words, count), words, row + begin);
      }
    }
  }
}

// `rows` rows of a, one behind the other, by a panel.
inline void widening_product(std::int64_t rows, std::int64_t pairs,
                             const std::int16_t* a, const std::int16_t* panel,
                             std::int64_t columns, std::int32_t* c,
                             std::int64_t c_row) {
  const auto rows_of = [&]<std::size_t kRows>() {
    constexpr auto kCount = static_cast<std::int64_t>(kRows);
    for (; rows >= kCount; rows -= kCount) {
      widening_block<kRows>(pairs, a, panel, columns, c, c_row);
      a += kCount * pairs * 2;
      c += kCount * c_row;
    }
  };
  rows_of.template operator()<kBlockRows>();
  rows_of.template operator()<2>();
  rows_of.template operator()<1>();
}

}  // namespace weft::HWY_NAMESPACE::simd
HWY_AFTER_NAMESPACE();

#endif  // per target
