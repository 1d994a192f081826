// The bytes of a state that is kept in a file or sent to another process.
//
// Threads: an object belongs to one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "weft/base/error.h"

namespace weft::validation {

class StateWriter {
 public:
  template <class Number>
  void number(Number value) {
    static_assert(std::is_arithmetic_v<Number>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }
  void text(std::string_view text) {
    number<std::uint64_t>(text.size());
    bytes_.append(text);
  }
  template <class Number>
  void list(const std::vector<Number>& values) {
    number<std::uint64_t>(values.size());
    for (const Number value : values) number(value);
  }

  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

// Throws Error(kDataLoss) where the bytes end early, or a count is larger than
// what is left: nothing is allocated on a number's word alone.
class StateReader {
 public:
  StateReader(std::string_view bytes, std::string_view where)
      : bytes_(bytes), where_(where) {}

  template <class Number>
  Number number() {
    need(sizeof(Number));
    Number value;
    std::memcpy(&value, bytes_.data(), sizeof(value));
    bytes_.remove_prefix(sizeof(value));
    return value;
  }
  std::string text() {
    const auto size = count(1);
    std::string text(bytes_.substr(0, size));
    bytes_.remove_prefix(size);
    return text;
  }
  template <class Number>
  std::vector<Number> list() {
    std::vector<Number> values(count(sizeof(Number)));
    for (Number& value : values) value = number<Number>();
    return values;
  }
  // How many things of at least so many bytes follow.
  std::size_t count(std::size_t least_bytes) {
    const auto count = number<std::uint64_t>();
    if (count > bytes_.size() / least_bytes) fail("a count is too large");
    return static_cast<std::size_t>(count);
  }
  bool is_at_end() const { return bytes_.empty(); }

  [[noreturn]] void fail(std::string_view reason) const {
    throw Error(ErrorCode::kDataLoss, where_, "statistics are damaged: {}",
                reason);
  }

 private:
  void need(std::size_t size) const {
    if (bytes_.size() < size) fail("they end early");
  }

  std::string_view bytes_;
  std::string_view where_;
};

}  // namespace weft::validation
