// A pseudo-random permutation of 0 … size-1 that is computed, not stored: the
// order of an epoch is known at any position without shuffling a list.
//
// A six-round Feistel network over the next even number of bits, whose round
// function is Philox4x32-10, walked until it lands inside the range (cycle
// walking; Black and Rogaway, "Ciphers with arbitrary finite domains", 2002).
// At most four walks are expected per element, since the domain is below
// 4 × size.
//
// Threads: immutable; share freely.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/base/error.h"
#include "weft/base/philox.h"

namespace weft {

class Permutation {
 public:
  // One permutation per (seed, stream, epoch). `size` is at least 1.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t stream,
              std::uint32_t epoch)
      : size_(size), random_{seed, stream, epoch}, half_bits_(half_bits(size)) {
    WEFT_CHECK(size >= 1);
    mask_ = (std::uint64_t{1} << half_bits_) - 1;
  }

  std::uint64_t size() const { return size_; }

  // Where position `index` of the epoch comes from. index < size().
  std::uint64_t operator()(std::uint64_t index) const {
    return walk(index, [&](std::uint32_t round, std::uint64_t right) {
      return round_word(round, right);
    });
  }

  // The same for whom most positions matter: the round function has so few
  // arguments, some square roots of size(), that all its words fit a table.
  static std::size_t table_words(std::uint64_t size) {
    return std::size_t{kRounds} << half_bits(size);
  }
  // `words` has room for table_words(size()).
  void tabulate(std::span<std::uint32_t> words) const {
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      for (std::uint64_t right = 0; right <= mask_; ++right)
        words[(round << half_bits_) + right] = round_word(round, right);
    }
  }
  std::uint64_t by_table(std::uint64_t index,
                         std::span<const std::uint32_t> words) const {
    return walk(index, [&](std::uint32_t round, std::uint64_t right) {
      return words[(std::uint64_t{round} << half_bits_) + right];
    });
  }

 private:
  static constexpr std::uint32_t kRounds = 6;

  // Feistel's halves have equal sizes, so the domain is a power of four, and at
  // most four times `size`.
  static int half_bits(std::uint64_t size) {
    const auto bits = static_cast<int>(std::bit_width(size - 1));
    return (bits + 1) / 2 > 0 ? (bits + 1) / 2 : 1;
  }

  template <class Word>
  std::uint64_t walk(std::uint64_t index, Word&& word) const {
    do {
      index = encrypt(index, word);
      // Encryption permutes the whole domain, so a walk that begins inside the
      // range must come back to it.
    } while (index >= size_);
    return index;
  }

  // Round r maps (left, right) to (right, left ^ F(r, right)).
  template <class Word>
  std::uint64_t encrypt(std::uint64_t value, Word&& word) const {
    std::uint64_t left = value >> half_bits_;
    std::uint64_t right = value & mask_;
    for (std::uint32_t round = 0; round < kRounds; ++round) {
      const std::uint64_t next = left ^ (word(round, right) & mask_);
      left = right;
      right = next;
    }
    return (left << half_bits_) | right;
  }

  // F: word 0 of the Philox block with counter (right, r, stream, epoch).
  std::uint32_t round_word(std::uint32_t round, std::uint64_t right) const {
    return philox4x32({static_cast<std::uint32_t>(right), round, random_.stream,
                       random_.step},
                      random_.seed)[0];
  }

  std::uint64_t size_;
  RandomStream random_;
  int half_bits_ = 1;
  std::uint64_t mask_ = 1;
};

}  // namespace weft
