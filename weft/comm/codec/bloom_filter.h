// A Bloom filter over 32-bit keys (Bloom, "Space/time trade-offs in hash
// coding with allowable errors", 1970): it answers "is in" for every key that
// was inserted, and for a share `rate` of the others.
//
// Hash i of a key is MurmurHash3 (Appleby, 32-bit) of its four bytes with
// seed i, modulo the number of bits.
//
// Threads: value type; caller synchronises. scan() uses the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weft {

std::uint32_t murmur3(std::uint32_t key, std::uint32_t seed);

struct BloomGeometry {
  std::size_t bytes = 0;
  int hashes = 0;
};

// The smallest filter of that rate: keys * |ln rate| / (ln 2)^2 bits and
// log2(1 / rate) hashes, rounded up. 0 < rate <= 0.5, keys >= 1.
BloomGeometry bloom_geometry(std::uint32_t keys, double rate);

class BloomFilter {
 public:
  static constexpr int kMaxHashes = 32;
  static constexpr std::size_t kMaxBytes = 0xFFFFFFFF / 8;

  // Empty. 1 <= bytes <= kMaxBytes, 1 <= hashes <= kMaxHashes.
  explicit BloomFilter(const BloomGeometry& geometry);
  // Has the bits that another one had.
  BloomFilter(std::span<const std::byte> bytes, int hashes);

  void insert(std::uint32_t key);
  bool contains(std::uint32_t key) const;
  // The bit that hash `number` of a key stands for.
  std::uint32_t bit_of(std::uint32_t key, int number) const {
    return murmur3(key, static_cast<std::uint32_t>(number)) % bits_;
  }

  // The keys of 0 … size-1 that are in the filter, ascending, at least the
  // first `most` of them; about two hashes for each key that is not in it.
  void scan(std::uint32_t size, std::size_t most,
            std::vector<std::uint32_t>& keys) const;

  std::uint32_t bits() const { return bits_; }
  int hashes() const { return hashes_; }
  std::uint64_t set_bits() const;
  std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span(words_)).first(bits_ / 8);
  }

 private:
  std::uint32_t bits_;  // a multiple of 8
  int hashes_;
  std::vector<std::uint32_t> words_;  // bit j is bit j % 32 of word j / 32
};

}  // namespace weft
