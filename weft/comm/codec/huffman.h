// Huffman codes of bytes (Huffman, "A method for the construction of
// minimum-redundancy codes", 1952), in canonical form: the lengths of the
// codes say all.
//
// Threads: immutable once built.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "weft/comm/codec/bit_pack.h"

namespace weft {

class HuffmanCode {
 public:
  static constexpr int kSymbols = 256;
  static constexpr int kMaxLength = 24;
  using Lengths = std::array<std::uint8_t, kSymbols>;

  // The best lengths for symbols that occur so often; 0 for those that never
  // do. Ties are broken by symbol, so that all machines agree. Where a code
  // would be longer than kMaxLength, counts are halved until none is.
  static Lengths best_lengths(std::array<std::uint64_t, kSymbols> counts);

  explicit HuffmanCode(const Lengths& lengths);

  // Whether any symbol has a code and the lengths leave none ambiguous. True
  // for best_lengths() of anything that occurs; to be asked of lengths that
  // were read.
  static bool is_valid(const Lengths& lengths);

  void write(std::uint8_t symbol, BitWriter& out) const {
    out.put(codes_[symbol], lengths_[symbol]);
  }
  // Throws Error(kDataLoss), from `in`, for bits that are no code.
  std::uint8_t read(BitReader& in) const;

  int length(std::uint8_t symbol) const { return lengths_[symbol]; }

 private:
  Lengths lengths_;
  // The first bit of a code is the lowest.
  std::array<std::uint32_t, kSymbols> codes_{};
  // Each length has a count of codes, a first code (first bit highest), and a
  // place where its symbols begin.
  std::array<std::uint32_t, kMaxLength + 1> count_{};
  std::array<std::uint32_t, kMaxLength + 1> first_{};
  std::array<std::uint32_t, kMaxLength + 1> offset_{};
  std::vector<std::uint8_t> symbols_;  // by length, then by value
};

// Bytes with the code that suits them best. Layout: u8 highest byte, the
// lengths of the codes up to it in 5 bits each, varint bytes of the codes, the
// codes. Nothing for no bytes.
void write_huffman(std::span<const std::uint8_t> bytes, ByteWriter& out);
// Fills `bytes`. Throws Error(kDataLoss) naming `field`.
void read_huffman(ByteReader& in, std::string_view field,
                  std::span<std::uint8_t> bytes);

}  // namespace weft
