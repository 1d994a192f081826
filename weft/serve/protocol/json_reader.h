// Reads JSON from front to back, a value at a time, into whatever the caller
// makes of it. Long lists of numbers are what requests consist of: here they go
// straight into tensors, where a tree of values would take sixteen bytes for
// each digit that a client sends.
//
// Every mistake is a Refusal(kBadRequest) with its position in bytes.
//
// Threads: one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "weft/serve/status.h"

namespace weft::serve {

class JsonReader {
 public:
  // `text` outlives the reader, and `from` is its place in the whole.
  explicit JsonReader(std::string_view text, std::size_t from = 0)
      : text_(text), from_(from) {}

  // The character that the next value begins with; '\0' at the end.
  char peek();
  // Where that is, in the whole.
  std::size_t position() const { return from_ + at_; }

  // Calls body(key) before each value of an object; it reads the value.
  template <class Body>
  void object(Body&& body);
  // Calls body(index) before each value of a list.
  template <class Body>
  void list(Body&& body);

  std::string string();
  bool boolean();
  std::int64_t integer();
  // The text of a number, as JSON writes them.
  std::string_view number();
  // Passes over a value of any kind, nested at most 32 deep; its text.
  std::string_view skip();
  // Nothing may follow.
  void end();

  template <class... Args>
  [[noreturn]] void fail(fmt::format_string<Args...> format, Args&&... args) {
    throw Refusal(Status::kBadRequest, fmt::format("byte {}", position()), "{}",
                  fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  // Takes `wanted` if it is next.
  bool take(char wanted);
  void expect(char wanted);
  void skip_nested(int depth);
  unsigned hex();
  void escape(std::string& out);
  bool digits();

  std::string_view text_;
  std::size_t from_;
  std::size_t at_ = 0;
};

template <class Body>
void JsonReader::object(Body&& body) {
  expect('{');
  if (take('}')) return;
  do {
    if (peek() != '"') fail("a key in quotes is due");
    const std::string key = string();
    expect(':');
    body(key);
  } while (take(','));
  expect('}');
}

template <class Body>
void JsonReader::list(Body&& body) {
  expect('[');
  if (take(']')) return;
  std::size_t index = 0;
  do {
    body(index++);
  } while (take(','));
  expect(']');
}

}  // namespace weft::serve
