// Integers of any number of bits, packed without gaps, lowest bit first; the
// last byte is filled with zero bits.
//
// Threads: value types; caller synchronises.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "weft/comm/codec/bytes.h"

namespace weft {

// The bits that each integer of 0 … `most` fits in: 0 for 0.
constexpr int bits_for(std::uint64_t most) {
  return static_cast<int>(std::bit_width(most));
}
constexpr std::uint64_t packed_bytes(std::uint64_t count, int bits) {
  return (count * static_cast<std::uint64_t>(bits) + 7) / 8;
}

// In a stream whose first bit is the lowest, digits that travel highest first
// stand reversed. `value` is below 2^bits.
constexpr std::uint32_t reversed(std::uint32_t value, int bits) {
  std::uint32_t result = 0;
  for (; bits > 0; --bits, value >>= 1) result = (result << 1) | (value & 1);
  return result;
}

class BitWriter {
 public:
  explicit BitWriter(ByteWriter& out) : out_(&out) {}

  // `value` is below 2^bits, bits <= 32.
  void put(std::uint32_t value, int bits) {
    // Below 32 bits are pending, so 32 more fit into the word.
    pending_ |= std::uint64_t{value} << count_;
    count_ += bits;
    if (count_ >= 32) {
      out_->write(static_cast<std::uint32_t>(pending_));
      pending_ >>= 32;
      count_ -= 32;
    }
  }
  // Fills the last byte.
  void finish() {
    for (; count_ > 0; count_ -= 8, pending_ >>= 8) {
      out_->write(static_cast<std::uint8_t>(pending_));
    }
    pending_ = 0;
    count_ = 0;
  }

 private:
  ByteWriter* out_;
  std::uint64_t pending_ = 0;
  int count_ = 0;  // bits in `pending_`, below 32 between two calls
};

class BitReader {
 public:
  // Takes `bytes` bytes from `in`, which must outlive the reader; `field`
  // names them in errors.
  BitReader(ByteReader& in, std::size_t bytes, std::string_view field)
      : in_(&in), field_(field), bytes_(in.take(bytes, field)) {}

  // The next `bits` <= 32 bits.
  std::uint32_t get(int bits) {
    if (count_ < bits) refill(bits);
    const auto mask = (std::uint64_t{1} << bits) - 1;
    const auto value = static_cast<std::uint32_t>(pending_ & mask);
    pending_ >>= bits;
    count_ -= bits;
    return value;
  }
  // Throws unless nothing but the zero bits of the last byte is left.
  void finish() const {
    if (!bytes_.empty() || count_ >= 8) throw damaged("has bytes too many");
    if (pending_ != 0) throw damaged("has bits after its end");
  }
  // The error for the field that is read.
  Error damaged(std::string_view what) const {
    return in_->damaged(field_, what);
  }

 private:
  void refill(int bits) {
    // A word at a time, as long as there is one: the last bytes may be fewer.
    const std::size_t size = std::min<std::size_t>(4, bytes_.size());
    std::uint32_t word = 0;
    if (size > 0) std::memcpy(&word, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
    pending_ |= std::uint64_t{word} << count_;
    count_ += static_cast<int>(8 * size);
    if (count_ < bits) throw damaged("is cut short");
  }

  const ByteReader* in_;
  std::string_view field_;
  std::span<const std::byte> bytes_;
  std::uint64_t pending_ = 0;
  int count_ = 0;  // bits in `pending_`, below 32 before a refill
};

}  // namespace weft
