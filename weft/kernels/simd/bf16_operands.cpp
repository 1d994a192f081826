#include "weft/kernels/simd/bf16_operands.h"

#include <algorithm>

#if defined(__x86_64__)

#include <immintrin.h>

// GCC 12 says so of its own header, wherever a function of it is inlined.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

namespace weft {
namespace {

using Words = __m512i[kBf16Side];

// A square of words, transposed in four rounds: each interleaves rows that lie
// half of all rows apart.
WEFT_TARGET_BF16 void transpose(Words& rows) {
  Words next;
  for (std::size_t i = 0; i < kBf16Side; i += 2) {
    next[i] = _mm512_unpacklo_epi32(rows[i], rows[i + 1]);
    next[i + 1] = _mm512_unpackhi_epi32(rows[i], rows[i + 1]);
  }
  for (std::size_t i = 0; i < kBf16Side; i += 4) {
    rows[i] = _mm512_unpacklo_epi64(next[i], next[i + 2]);
    rows[i + 1] = _mm512_unpackhi_epi64(next[i], next[i + 2]);
    rows[i + 2] = _mm512_unpacklo_epi64(next[i + 1], next[i + 3]);
    rows[i + 3] = _mm512_unpackhi_epi64(next[i + 1], next[i + 3]);
  }
  // Row 4 g + i now holds, in its quarter q, column 4 q + i of rows 4 g to
  // 4 g + 3.
  for (std::size_t i = 0; i < 4; ++i) {
    const __m512i low0 = _mm512_shuffle_i32x4(rows[i], rows[4 + i], 0x44);
    const __m512i high0 = _mm512_shuffle_i32x4(rows[i], rows[4 + i], 0xee);
    const __m512i low1 = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], 0x44);
    const __m512i high1 = _mm512_shuffle_i32x4(rows[8 + i], rows[12 + i], 0xee);
    next[i] = _mm512_shuffle_i32x4(low0, low1, 0x88);
    next[4 + i] = _mm512_shuffle_i32x4(low0, low1, 0xdd);
    next[8 + i] = _mm512_shuffle_i32x4(high0, high1, 0x88);
    next[12 + i] = _mm512_shuffle_i32x4(high0, high1, 0xdd);
  }
  std::copy_n(next, kBf16Side, rows);
}

// `count` elements from x [i, first] on, and zeros.
template <class Mask>
Mask part(const Bf16Rows& x, std::size_t i, std::size_t first,
          std::size_t count) {
  if (i >= x.count || first >= x.width) return 0;
  const std::size_t left = std::min(count, x.width - first);
  return static_cast<Mask>((std::uint64_t{1} << left) - 1);
}

// Elements x [2 i, first …] and x [2 i + 1, first …] as pairs.
WEFT_TARGET_BF16 __m512i pairs_of_rows(const Bf16Rows& x, std::size_t i,
                                       std::size_t first) {
  const auto half = [&](std::size_t row) WEFT_TARGET_BF16 {
    return _mm512_cvtepu16_epi32(
        _mm256_maskz_loadu_epi16(part<__mmask16>(x, row, first, kBf16Side),
                                 x.data + row * x.step + first));
  };
  return _mm512_or_si512(half(2 * i), _mm512_slli_epi32(half(2 * i + 1), 16));
}

WEFT_TARGET_BF16 void store_words(const Words& rows, void* to,
                                  std::size_t row) {
  for (std::size_t i = 0; i < kBf16Side; ++i) {
    _mm512_storeu_si512(static_cast<std::uint32_t*>(to) + i * row, rows[i]);
  }
}

}  // namespace

void pack_bf16_rows(const Bf16Rows& x, std::size_t rows, std::size_t row,
                    bfloat16* to) {
  for (std::size_t i = 0; i < rows; ++i) {
    const std::size_t width = i < x.count ? x.width : 0;
    std::copy_n(x.data + i * x.step, width, to + i * row);
    std::fill_n(to + i * row + width, row - width, bfloat16{});
  }
}

WEFT_TARGET_BF16 void pack_bf16_transposed(const Bf16Rows& x,
                                           std::size_t columns, std::size_t row,
                                           bfloat16* to) {
  Words words;
  for (std::size_t w = 0; w < columns; w += kBf16Side) {
    for (std::size_t i = 0; i < row / 2; i += kBf16Side) {
      for (std::size_t n = 0; n < kBf16Side; ++n) {
        words[n] = pairs_of_rows(x, i + n, w);
      }
      transpose(words);
      store_words(words, to + w * row + 2 * i, row / 2);
    }
  }
}

WEFT_TARGET_BF16 void pack_bf16_pairs(const Bf16Rows& x, std::size_t pairs,
                                      std::size_t row, Bf16Pair* to) {
  for (std::size_t i = 0; i < pairs; ++i) {
    for (std::size_t w = 0; w < row; w += kBf16Side) {
      _mm512_storeu_si512(to + i * row + w, pairs_of_rows(x, i, w));
    }
  }
}

WEFT_TARGET_BF16 void pack_bf16_transposed_pairs(const Bf16Rows& x,
                                                 std::size_t pairs,
                                                 std::size_t row,
                                                 Bf16Pair* to) {
  Words words;
  for (std::size_t i = 0; i < row; i += kBf16Side) {
    for (std::size_t w = 0; w < pairs; w += kBf16Side) {
      for (std::size_t n = 0; n < kBf16Side; ++n) {
        words[n] = _mm512_maskz_loadu_epi16(
            part<__mmask32>(x, i + n, 2 * w, 2 * kBf16Side),
            x.data + (i + n) * x.step + 2 * w);
      }
      transpose(words);
      store_words(words, to + w * row + i, row);
    }
  }
}

WEFT_TARGET_BF16 void round_to_bf16_rows(const float* x, std::size_t rows,
                                         std::size_t columns, std::size_t row,
                                         bfloat16* to) {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; j += kBf16Side) {
      const __m256bh rounded =
          _mm512_cvtneps_pbh(_mm512_loadu_ps(x + i * row + j));
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i * row + j),
                          reinterpret_cast<__m256i>(rounded));
    }
  }
}

WEFT_TARGET_BF16 void round_to_bf16_pairs(const float* x, std::size_t rows,
                                          std::size_t columns, std::size_t row,
                                          Bf16Pair* to) {
  // One instruction rounds two vectors, the first to the upper half; a second
  // one puts those of a column side by side.
  alignas(64) std::uint16_t order[2 * kBf16Side];
  for (std::size_t i = 0; i < kBf16Side; ++i) {
    order[2 * i] = static_cast<std::uint16_t>(i);
    order[2 * i + 1] = static_cast<std::uint16_t>(kBf16Side + i);
  }
  const __m512i by_column = _mm512_load_si512(order);
  for (std::size_t i = 0; i < rows / 2; ++i) {
    for (std::size_t j = 0; j < columns; j += kBf16Side) {
      const float* upper = x + 2 * i * row + j;
      const __m512bh rounded = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(upper + row),
                                                   _mm512_loadu_ps(upper));
      _mm512_storeu_si512(to + i * row + j,
                          _mm512_permutexvar_epi16(
                              by_column, reinterpret_cast<__m512i>(rounded)));
    }
  }
}

WEFT_TARGET_BF16 void round_to_bf16_transposed(const float* x, std::size_t row,
                                               const float* factors,
                                               std::size_t count,
                                               std::size_t width, bfloat16* to,
                                               std::size_t step) {
  const Bf16Rows result{to, step, count, width};
  Words words;
  for (std::size_t i = 0; i < count; i += kBf16Side) {
    const __m512 factor = _mm512_loadu_ps(factors + i);
    for (std::size_t w = 0; w < width; w += kBf16Side) {
      for (std::size_t n = 0; n < kBf16Side; ++n) {
        words[n] = _mm512_castps_si512(
            _mm512_mul_ps(_mm512_loadu_ps(x + (w + n) * row + i), factor));
      }
      transpose(words);
      for (std::size_t n = 0; n < kBf16Side; ++n) {
        const __m256bh rounded =
            _mm512_cvtneps_pbh(_mm512_castsi512_ps(words[n]));
        _mm256_mask_storeu_epi16(to + (i + n) * step + w,
                                 part<__mmask16>(result, i + n, w, kBf16Side),
                                 reinterpret_cast<__m256i>(rounded));
      }
    }
  }
}

}  // namespace weft

#else

#include <cstdlib>

// bf16_machine() is null here, so that nobody has a use for operands.
namespace weft {

void pack_bf16_rows(const Bf16Rows&, std::size_t, std::size_t, bfloat16*) {
  std::abort();
}
void pack_bf16_transposed(const Bf16Rows&, std::size_t, std::size_t,
                          bfloat16*) {
  std::abort();
}
void pack_bf16_pairs(const Bf16Rows&, std::size_t, std::size_t, Bf16Pair*) {
  std::abort();
}
void pack_bf16_transposed_pairs(const Bf16Rows&, std::size_t, std::size_t,
                                Bf16Pair*) {
  std::abort();
}
void round_to_bf16_rows(const float*, std::size_t, std::size_t, std::size_t,
                        bfloat16*) {
  std::abort();
}
void round_to_bf16_pairs(const float*, std::size_t, std::size_t, std::size_t,
                         Bf16Pair*) {
  std::abort();
}
void round_to_bf16_transposed(const float*, std::size_t, const float*,
                              std::size_t, std::size_t, bfloat16*,
                              std::size_t) {
  std::abort();
}

}  // namespace weft

#endif
