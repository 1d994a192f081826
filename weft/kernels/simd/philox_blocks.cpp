#include "weft/kernels/simd/philox_blocks.h"

namespace weft {
namespace {

using Lanes = std::uint32_t[kPhiloxBlocks];

constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;

}  // namespace

// philox4x32() with each word of the counter as an array over blocks, which
// the compiler turns into vectors.
void philox_blocks(const RandomStream& stream, std::uint64_t first,
                   std::uint32_t* words) {
  Lanes c0;
  Lanes c1;
  Lanes c2;
  Lanes c3;
  for (std::uint32_t i = 0; i < kPhiloxBlocks; ++i) {
    c0[i] = static_cast<std::uint32_t>(first + i);
    c1[i] = static_cast<std::uint32_t>((first + i) >> 32);
    c2[i] = stream.stream;
    c3[i] = stream.step;
  }
  auto k0 = static_cast<std::uint32_t>(stream.seed);
  auto k1 = static_cast<std::uint32_t>(stream.seed >> 32);
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < kPhiloxBlocks; ++i) {
      const std::uint64_t p0 = kMultiplier0 * c0[i];
      const std::uint64_t p1 = kMultiplier1 * c2[i];
      c0[i] = static_cast<std::uint32_t>(p1 >> 32) ^ c1[i] ^ k0;
      c1[i] = static_cast<std::uint32_t>(p1);
      c2[i] = static_cast<std::uint32_t>(p0 >> 32) ^ c3[i] ^ k1;
      c3[i] = static_cast<std::uint32_t>(p0);
    }
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  for (int i = 0; i < kPhiloxBlocks; ++i) {
    words[4 * i] = c0[i];
    words[4 * i + 1] = c1[i];
    words[4 * i + 2] = c2[i];
    words[4 * i + 3] = c3[i];
  }
}

}  // namespace weft
