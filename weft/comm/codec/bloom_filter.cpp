#include "weft/comm/codec/bloom_filter.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/comm/codec/bloom_filter.cpp"
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <numbers>

#include "weft/base/error.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using Vector = hn::Vec<Words>;
constexpr std::size_t kLanes = hn::MaxLanes(Words());
// Keys whose survivors are gathered after each hash; they stay in the cache.
constexpr std::size_t kBlock = 1024;

Vector set(std::uint32_t value) { return hn::Set(Words(), value); }

// The part of the hash that does not depend on the seed.
constexpr std::uint32_t scramble(std::uint32_t key) {
  return std::rotl(key * 0xcc9e2d51u, 15) * 0x1b873593u;
}
Vector scramble(Vector key) {
  return hn::Mul(hn::RotateRight<32 - 15>(hn::Mul(key, set(0xcc9e2d51u))),
                 set(0x1b873593u));
}

// Together they are MurmurHash3_x86_32 (Austin Appleby) of a key of one word;
// the constants are its own.
constexpr std::uint32_t finish_hash(std::uint32_t scrambled,
                                    std::uint32_t seed) {
  std::uint32_t h = std::rotl(seed ^ scrambled, 13) * 5 + 0xe6546b64u;
  h ^= sizeof(std::uint32_t);  // the length of the key
  h = (h ^ (h >> 16)) * 0x85ebca6bu;
  h = (h ^ (h >> 13)) * 0xc2b2ae35u;
  return h ^ (h >> 16);
}
Vector finish_hash(Vector scrambled, std::uint32_t seed) {
  Vector h = hn::RotateRight<32 - 13>(hn::Xor(scrambled, set(seed)));
  h = hn::Add(hn::Mul(h, set(5)), set(0xe6546b64u));
  h = hn::Xor(h, set(sizeof(std::uint32_t)));
  h = hn::Mul(hn::Xor(h, hn::ShiftRight<16>(h)), set(0x85ebca6bu));
  h = hn::Mul(hn::Xor(h, hn::ShiftRight<13>(h)), set(0xc2b2ae35u));
  return hn::Xor(h, hn::ShiftRight<16>(h));
}

Vector multiply_high(Vector a, Vector b) {
  const Words words;
  const hn::Repartition<std::uint64_t, Words> pairs;
  const auto even = hn::BitCast(pairs, hn::MulEven(a, b));
  const auto moved =
      hn::BitCast(words, hn::ShiftRight<32>(hn::BitCast(pairs, a)));
  const auto odd = hn::MulEven(moved, b);
  return hn::OddEven(hn::BitCast(words, odd),
                     hn::BitCast(words, hn::ShiftRight<32>(even)));
}

// x % divisor for 1 < divisor: the quotient by the rounded-down reciprocal is
// right or one too small, and min() undoes the subtraction that wraps around.
class Modulo {
 public:
  explicit Modulo(std::uint32_t divisor)
      : divisor_(set(divisor)),
        reciprocal_(set(
            static_cast<std::uint32_t>((std::uint64_t{1} << 32) / divisor))) {}

  Vector operator()(Vector x) const {
    const Vector quotient = multiply_high(x, reciprocal_);
    const Vector rest = hn::Sub(x, hn::Mul(quotient, divisor_));
    return hn::Min(rest, hn::Sub(rest, divisor_));
  }

 private:
  Vector divisor_;
  Vector reciprocal_;
};

// Keys and their scrambled forms, with room for a store of full vectors.
struct Candidates {
  std::array<std::uint32_t, kBlock + kLanes> keys;
  std::array<std::uint32_t, kBlock + kLanes> scrambled;
  std::size_t count = 0;
};

void fill(Candidates& block, std::uint32_t first, std::size_t count) {
  const Words words;
  for (std::size_t i = 0; i < count; i += kLanes) {
    const Vector keys = hn::Iota(words, first + static_cast<std::uint32_t>(i));
    hn::StoreU(keys, words, block.keys.data() + i);
    hn::StoreU(scramble(keys), words, block.scrambled.data() + i);
  }
  block.count = count;
}

// Keeps the candidates whose bit for this seed is set.
void sieve(Candidates& block, std::uint32_t seed, const Modulo& modulo,
           const std::uint32_t* filter) {
  const Words words;
  const hn::RebindToSigned<Words> offsets;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < block.count; i += kLanes) {
    const Vector scrambled = hn::LoadU(words, block.scrambled.data() + i);
    const Vector bit = modulo(finish_hash(scrambled, seed));
    const Vector word = hn::GatherIndex(
        words, filter, hn::BitCast(offsets, hn::ShiftRight<5>(bit)));
    const Vector shifted = hn::Shr(word, hn::And(bit, set(31)));
    // Lanes behind the last candidate hold what was there before, and do not
    // count.
    const auto is_set = hn::And(hn::TestBit(shifted, set(1)),
                                hn::FirstN(words, block.count - i));
    const Vector keys = hn::LoadU(words, block.keys.data() + i);
    // This works in place: what is written lies before what is still to be
    // read.
    hn::StoreU(hn::Compress(keys, is_set), words, block.keys.data() + kept);
    hn::StoreU(hn::Compress(scrambled, is_set), words,
               block.scrambled.data() + kept);
    kept += hn::CountTrue(words, is_set);
  }
  block.count = kept;
}

// The keys below `size` whose bits are all set, until there are `most`.
void append_keys(const std::uint32_t* filter, std::uint32_t bits, int hashes,
                 std::uint32_t size, std::size_t most,
                 std::vector<std::uint32_t>& keys) {
  const Modulo modulo(bits);
  Candidates block;
  for (std::uint64_t first = 0; first < size && keys.size() < most;
       first += kBlock) {
    fill(block, static_cast<std::uint32_t>(first),
         static_cast<std::size_t>(
             std::min<std::uint64_t>(kBlock, size - first)));
    // Half of a filter's bits are set, so each hash leaves about half of the
    // keys that are in none: later ones have few to look at.
    for (int i = 0; i < hashes && block.count > 0; ++i) {
      sieve(block, static_cast<std::uint32_t>(i), modulo, filter);
    }
    keys.insert(keys.end(), block.keys.begin(),
                block.keys.begin() + static_cast<std::ptrdiff_t>(block.count));
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

std::uint32_t murmur3(std::uint32_t key, std::uint32_t seed) {
  return HWY_NAMESPACE::finish_hash(HWY_NAMESPACE::scramble(key), seed);
}

BloomGeometry bloom_geometry(std::uint32_t keys, double rate) {
  WEFT_CHECK(keys >= 1 && rate > 0 && rate <= 0.5);
  // The optimum of Bloom's analysis, at which half of the bits are set: n ln(1
  // / rate) / (ln 2)^2 bits and log2(1 / rate) hashes.
  const double bits = static_cast<double>(keys) * -std::log(rate) /
                      (std::numbers::ln2 * std::numbers::ln2);
  return {static_cast<std::size_t>(std::ceil(bits / 8)),
          static_cast<int>(std::ceil(-std::log2(rate)))};
}

BloomFilter::BloomFilter(const BloomGeometry& geometry)
    : bits_(static_cast<std::uint32_t>(geometry.bytes * 8)),
      hashes_(geometry.hashes),
      // A scan gathers whole words.
      words_((geometry.bytes + 3) / 4) {
  WEFT_CHECK(geometry.bytes >= 1 && geometry.bytes <= kMaxBytes);
  WEFT_CHECK(hashes_ >= 1 && hashes_ <= kMaxHashes);
}

BloomFilter::BloomFilter(std::span<const std::byte> bytes, int hashes)
    : BloomFilter(BloomGeometry{bytes.size(), hashes}) {
  std::memcpy(words_.data(), bytes.data(), bytes.size());
}

void BloomFilter::insert(std::uint32_t key) {
  for (int i = 0; i < hashes_; ++i) {
    const std::uint32_t bit = bit_of(key, i);
    words_[bit / 32] |= 1u << (bit % 32);
  }
}

bool BloomFilter::contains(std::uint32_t key) const {
  for (int i = 0; i < hashes_; ++i) {
    const std::uint32_t bit = bit_of(key, i);
    if ((words_[bit / 32] >> (bit % 32) & 1) == 0) return false;
  }
  return true;
}

void BloomFilter::scan(std::uint32_t size, std::size_t most,
                       std::vector<std::uint32_t>& keys) const {
  keys.clear();
  WEFT_FOR_MACHINE(append_keys)
  (words_.data(), bits_, hashes_, size, most, keys);
}

std::uint64_t BloomFilter::set_bits() const {
  std::uint64_t count = 0;
  for (const std::uint32_t word : words_) {
    count += static_cast<std::uint64_t>(std::popcount(word));
  }
  return count;
}

}  // namespace weft
#endif
