// Products of matrices of bf16 with sums of f32, for kernels whose matrices are
// of some 64 rows and stay in the caches: by tiles (AMX: Intel, "Architecture
// Instruction Set Extensions Programming Reference", chapter 3) or by dot
// products of pairs (AVX512-BF16). Both read the right operand as words of two
// numbers that follow each other down a column, and take numbers below the
// least normal one as 0.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/tensor/dtype.h"

namespace weft {

// For functions of vectors that only such machines have; all others are
// compiled for any.
#define WEFT_TARGET_BF16 \
  __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))

// Sides of matrices are whole tiles: of rows and columns of the result, which
// are those of a vector of words, and of what is summed over. Who has other
// sizes adds zeros.
inline constexpr std::size_t kBf16Side = 16;
inline constexpr std::size_t kBf16Depth = 32;

// Two numbers of a column: the lower half is the upper one.
using Bf16Pair = std::uint32_t;

// c [m, n] = a b, or c += a b. The rows of a [m, k] and of c are `a_row` and
// `c_row` elements apart; row p of b holds rows 2 p and 2 p + 1 of [k, n] as
// pairs, `b_row` pairs apart. m and n are multiples of kBf16Side, k of
// kBf16Depth.
struct Bf16Product {
  std::size_t m, n, k;
  const bfloat16* a;
  std::size_t a_row;
  const Bf16Pair* b;
  std::size_t b_row;
  float* c;
  std::size_t c_row;
  bool adds = false;
};

// What multiplies them on this machine.
struct Bf16Machine {
  std::string_view name;  // "AMX", "AVX512-BF16"
  // A thread calls them before its first product and after its last one.
  void (*begin)();
  void (*end)();
  void (*multiply)(const Bf16Product& product);
};

// Null where the processor or the system lacks both, or WEFT_CPU rules them
// out.
const Bf16Machine* bf16_machine();

// A thread's products, from begin() to end().
class Bf16Products {
 public:
  explicit Bf16Products(const Bf16Machine& machine) : machine_(machine) {
    machine_.begin();
  }
  ~Bf16Products() { machine_.end(); }
  Bf16Products(const Bf16Products&) = delete;
  Bf16Products& operator=(const Bf16Products&) = delete;

  void operator()(const Bf16Product& product) const {
    machine_.multiply(product);
  }

 private:
  const Bf16Machine& machine_;
};

}  // namespace weft
