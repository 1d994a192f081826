#include "weft/kernels/simd/bf16_products.h"

#include "weft/base/cpu.h"

#if defined(__x86_64__)

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WEFT_TARGET_AMX __attribute__((target("amx-tile,amx-bf16")))

namespace weft {
namespace {

// --- Dot products of pairs ---------------------------------------------------

WEFT_TARGET_BF16 __m512bh as_pairs(__m512i words) {
  return reinterpret_cast<__m512bh>(words);
}

// kRows rows of c in kVectors vectors, which stay in registers.
template <std::size_t kRows, std::size_t kVectors>
WEFT_TARGET_BF16 void dot_block(const Bf16Product& p, std::size_t i,
                                std::size_t j) {
  float* c = p.c + i * p.c_row + j;
  __m512 sums[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = p.adds ? _mm512_loadu_ps(c + r * p.c_row + v * kBf16Side)
                          : _mm512_setzero_ps();
    }
  }
  const auto* a = reinterpret_cast<const std::byte*>(p.a + i * p.a_row);
  for (std::size_t k = 0; k < p.k / 2; ++k) {
    const Bf16Pair* b = p.b + k * p.b_row + j;
    __m512bh row[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      row[v] = as_pairs(_mm512_loadu_si512(b + v * kBf16Side));
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      int pair;
      __builtin_memcpy(&pair, a + (r * p.a_row + 2 * k) * sizeof(bfloat16),
                       sizeof(pair));
      const __m512bh left = as_pairs(_mm512_set1_epi32(pair));
      for (std::size_t v = 0; v < kVectors; ++v) {
        sums[r][v] = _mm512_dpbf16_ps(sums[r][v], left, row[v]);
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      _mm512_storeu_ps(c + r * p.c_row + v * kBf16Side, sums[r][v]);
    }
  }
}

WEFT_TARGET_BF16 void multiply_by_dots(const Bf16Product& p) {
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kVectors = 4;
  for (std::size_t i = 0; i < p.m; i += kRows) {
    std::size_t j = 0;
    for (; j + kVectors * kBf16Side <= p.n; j += kVectors * kBf16Side) {
      dot_block<kRows, kVectors>(p, i, j);
    }
    for (; j < p.n; j += kBf16Side) dot_block<kRows, 1>(p, i, j);
  }
}

void nothing() {}

constexpr Bf16Machine kDots = {"AVX512-BF16", nothing, nothing,
                               multiply_by_dots};

// --- Tiles -------------------------------------------------------------------

// All eight tiles have 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, first_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

WEFT_TARGET_AMX void begin_tiles() {
  static constexpr TileShapes kShapes;
  _tile_loadconfig(&kShapes);
}

// A thread that holds no tiles has less to save when another takes its core.
WEFT_TARGET_AMX void end_tiles() { _tile_release(); }

// Two by two tiles of c, or fewer where `kRows` or `kColumns` is 1: tiles 0 to
// 3. Those of a are 4 and 5, those of b are 6 and 7.
template <int kRows, int kColumns>
WEFT_TARGET_AMX void tile_block(const Bf16Product& p, std::size_t i,
                                std::size_t j) {
  float* c = p.c + i * p.c_row + j;
  const std::size_t c_bytes = p.c_row * sizeof(float);
  float* below = c + kBf16Side * p.c_row;
  if (p.adds) {
    _tile_loadd(0, c, c_bytes);
    if constexpr (kColumns > 1) _tile_loadd(1, c + kBf16Side, c_bytes);
    if constexpr (kRows > 1) _tile_loadd(2, below, c_bytes);
    if constexpr (kRows > 1 && kColumns > 1) {
      _tile_loadd(3, below + kBf16Side, c_bytes);
    }
  } else {
    _tile_zero(0);
    if constexpr (kColumns > 1) _tile_zero(1);
    if constexpr (kRows > 1) _tile_zero(2);
    if constexpr (kRows > 1 && kColumns > 1) _tile_zero(3);
  }
  const std::size_t a_bytes = p.a_row * sizeof(bfloat16);
  const std::size_t b_bytes = p.b_row * sizeof(Bf16Pair);
  for (std::size_t k = 0; k < p.k; k += kBf16Depth) {
    const bfloat16* a = p.a + i * p.a_row + k;
    const Bf16Pair* b = p.b + k / 2 * p.b_row + j;
    _tile_loadd(4, a, a_bytes);
    _tile_loadd(6, b, b_bytes);
    _tile_dpbf16ps(0, 4, 6);
    if constexpr (kColumns > 1) {
      _tile_loadd(7, b + kBf16Side, b_bytes);
      _tile_dpbf16ps(1, 4, 7);
    }
    if constexpr (kRows > 1) {
      _tile_loadd(5, a + kBf16Side * p.a_row, a_bytes);
      _tile_dpbf16ps(2, 5, 6);
    }
    if constexpr (kRows > 1 && kColumns > 1) _tile_dpbf16ps(3, 5, 7);
  }
  _tile_stored(0, c, c_bytes);
  if constexpr (kColumns > 1) _tile_stored(1, c + kBf16Side, c_bytes);
  if constexpr (kRows > 1) _tile_stored(2, below, c_bytes);
  if constexpr (kRows > 1 && kColumns > 1) {
    _tile_stored(3, below + kBf16Side, c_bytes);
  }
}

template <int kRows>
WEFT_TARGET_AMX void tile_rows(const Bf16Product& p, std::size_t i) {
  std::size_t j = 0;
  for (; j + 2 * kBf16Side <= p.n; j += 2 * kBf16Side) {
    tile_block<kRows, 2>(p, i, j);
  }
  if (j < p.n) tile_block<kRows, 1>(p, i, j);
}

// It is not inlined: the compiler does not know that the instructions read and
// write memory, but that a function may.
__attribute__((noinline)) void multiply_by_tiles(const Bf16Product& p) {
  std::size_t i = 0;
  for (; i + 2 * kBf16Side <= p.m; i += 2 * kBf16Side) tile_rows<2>(p, i);
  if (i < p.m) tile_rows<1>(p, i);
}

constexpr Bf16Machine kTiles = {"AMX", begin_tiles, end_tiles,
                                multiply_by_tiles};

// Linux gives a process the tiles' registers on demand (Documentation/arch/x86/
// xstate.rst in its sources).
bool are_tiles_granted() {
  constexpr int kRequest = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr int kTileData = 18;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

}  // namespace

const Bf16Machine* bf16_machine() {
  static const Bf16Machine* const machine = []() -> const Bf16Machine* {
    if (instruction_set() < InstructionSet::kAvx512Bf16) return nullptr;
    if (instruction_set() < InstructionSet::kAmx) return &kDots;
    return are_tiles_granted() ? &kTiles : &kDots;
  }();
  return machine;
}

}  // namespace weft

#else

namespace weft {

const Bf16Machine* bf16_machine() { return nullptr; }

}  // namespace weft

#endif
