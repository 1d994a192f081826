#include "weft/kernels/simd/philox_blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/philox_blocks.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::CappedTag<std::uint32_t, kPhiloxBlocks>;
using Pairs = hn::Repartition<std::uint64_t, Words>;
using Vector = hn::Vec<Words>;

// The constants are those of Philox4x32 (Salmon et al., "Parallel Random
// Numbers: As Easy as 1, 2, 3", SC 2011).
constexpr std::uint32_t kMultiplier0 = 0xD2511F53;
constexpr std::uint32_t kMultiplier1 = 0xCD9E8D57;

struct Product {
  Vector high;
  Vector low;
};

// The 64-bit products of each lane: even lanes and odd lanes apart.
Product multiply(Vector a, Vector b) {
  const Words words;
  const Pairs pairs;
  // Vectors multiply 32 bits to 64 in every second lane only.
  const auto even = hn::MulEven(a, b);
  const auto shifted =
      hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(pairs, a)));
  const auto odd = hn::MulEven(shifted, b);
  return {hn::OddEven(hn::BitCast(words, odd),
                      hn::BitCast(words, hn::ShiftRight<32>(even))),
          hn::OddEven(hn::BitCast(words, hn::ShiftLeft<32>(odd)),
                      hn::BitCast(words, even))};
}

// philox4x32() with one block per lane. `low` holds the lanes' numbers, whose
// upper half is common to them.
void blocks(const RandomStream& stream, Vector low, std::uint32_t high,
            std::uint32_t* out) {
  const Words words;
  const Vector m0 = hn::Set(words, kMultiplier0);
  const Vector m1 = hn::Set(words, kMultiplier1);
  Vector c0 = low;
  Vector c1 = hn::Set(words, high);
  Vector c2 = hn::Set(words, stream.stream);
  Vector c3 = hn::Set(words, stream.step);
  auto k0 = static_cast<std::uint32_t>(stream.seed);
  auto k1 = static_cast<std::uint32_t>(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const Product p0 = multiply(c0, m0);
    const Product p1 = multiply(c2, m1);
    c0 = hn::Xor(hn::Xor(p1.high, c1), hn::Set(words, k0));
    c1 = p1.low;
    c2 = hn::Xor(hn::Xor(p0.high, c3), hn::Set(words, k1));
    c3 = p0.low;
    // The key moves on by Weyl sequences: the golden ratio, and the square root
    // of 3 less 1.
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  // A block's four words stand side by side, as RandomStream numbers them.
  hn::StoreInterleaved4(c0, c1, c2, c3, words, out);
}

void all_blocks(const RandomStream& stream, std::uint64_t first,
                std::uint32_t* words) {
  // `first` is a multiple of kPhiloxBlocks, so the lower half cannot wrap
  // around among the lanes.
  const Words tag;
  const auto low = static_cast<std::uint32_t>(first);
  const auto high = static_cast<std::uint32_t>(first >> 32);
  const auto lanes = static_cast<std::uint32_t>(hn::Lanes(tag));
  for (std::uint32_t i = 0; i < kPhiloxBlocks; i += lanes) {
    blocks(stream, hn::Iota(tag, low + i), high, words + std::size_t{4} * i);
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void philox_blocks(const RandomStream& stream, std::uint64_t first,
                   std::uint32_t* words) {
  WEFT_FOR_MACHINE(all_blocks)(stream, first, words);
}

}  // namespace weft
#endif
