// Writing and reading the bytes of a message.
//
// Numbers are little-endian. A reader never passes its end and never trusts a
// count: what does not fit is an Error(kDataLoss) that names the field.
//
// Threads: value types; caller synchronises.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/base/error.h"

namespace weft {

static_assert(std::endian::native == std::endian::little,
              "messages are little-endian; add the swaps for this machine");

using Bytes = std::vector<std::byte>;

// Appends to a buffer that its caller keeps, so that its memory is reused.
class ByteWriter {
 public:
  explicit ByteWriter(Bytes& bytes) : bytes_(&bytes) {}

  template <class T>
  void write(T value) {
    static_assert(std::is_arithmetic_v<T>);
    std::memcpy(room(sizeof(T)), &value, sizeof(T));
  }
  template <class T>
  void write_all(std::span<const T> values) {
    static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, std::byte>);
    if (values.empty()) return;
    std::memcpy(room(values.size_bytes()), values.data(), values.size_bytes());
  }
  // LEB128: seven bits a byte, lowest first.
  void write_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      write(static_cast<std::uint8_t>(value | 0x80));
    }
    write(static_cast<std::uint8_t>(value));
  }
  // `count` bytes to be filled in by the caller before the next call here.
  std::byte* room(std::size_t count) {
    bytes_->resize(bytes_->size() + count);
    return bytes_->data() + bytes_->size() - count;
  }
  // Takes back all but the first `size` bytes of the buffer.
  void truncate(std::size_t size) { bytes_->resize(size); }
  std::size_t size() const { return bytes_->size(); }
  // All of the buffer, until the next call here.
  std::span<const std::byte> bytes() const { return *bytes_; }

 private:
  Bytes* bytes_;
};

class ByteReader {
 public:
  // `where` names the message in errors ("3lc").
  ByteReader(std::span<const std::byte> bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  template <class T>
  T read(std::string_view field) {
    static_assert(std::is_arithmetic_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T), field).data(), sizeof(T));
    return value;
  }
  std::uint64_t read_varint(std::string_view field) {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<std::uint8_t>(field);
      // The tenth byte has room for one bit.
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    throw damaged(field, "has more than 64 bits");
  }
  // The next `count` bytes.
  std::span<const std::byte> take(std::size_t count, std::string_view field) {
    if (count > bytes_.size()) throw damaged(field, "is cut short");
    const auto result = bytes_.first(count);
    bytes_ = bytes_.subspan(count);
    return result;
  }
  std::size_t remaining() const { return bytes_.size(); }
  // Throws if bytes are left.
  void expect_end() const {
    if (!bytes_.empty()) {
      throw damaged("message",
                    fmt::format("has {} bytes too many", bytes_.size()));
    }
  }

  // The error for a field that says what cannot be.
  Error damaged(std::string_view field, std::string_view what) const {
    return Error(ErrorCode::kDataLoss, where_, "the field '{}' {}", field,
                 what);
  }

 private:
  std::span<const std::byte> bytes_;
  std::string_view where_;
};

}  // namespace weft
