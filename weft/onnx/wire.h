// The encoding of protocol buffers, as far as ONNX files use it: fields of
// numbers and of runs of bytes, each behind its number and kind.
//
// Bytes are not copied: what a reader returns lies in the bytes that it was
// given, so that the weights of a mapped file stay there. The library would
// copy each field, limits a message to 2 GB, and a program that brings its own
// release of it, as Python's onnx and PyTorch do, cannot share a process with
// another one.
//
// Threads: value types.
// Source:  Protocol Buffers, "Encoding", protobuf.dev/programming-guides.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"
#include "weft/base/wire_writer.h"

namespace weft::onnx {

// One field after another of a message.
class WireReader {
 public:
  // `where` names the file in errors and must outlive the reader; `begin` is
  // the position of the message in the file.
  WireReader(ByteSpan message, std::string_view where, std::size_t begin = 0)
      : message_(message), where_(where), begin_(begin) {}

  // Goes to the next field; false at the end. Throws Error(kDataLoss) with the
  // position for what is cut short or no field.
  bool next();
  int number() const { return number_; }
  WireKind kind() const { return kind_; }

  // The field's value. Throws Error(kDataLoss) if it is of another kind.
  std::int64_t integer() const;
  float real() const;
  ByteSpan bytes() const;
  // Throws Error(kDataLoss) for one that is no UTF-8, too.
  std::string_view text() const;
  // A message within this one, which may be this deep.
  WireReader message() const;

  // All numbers of a field that repeats: one, or several packed side by side.
  void append_to(std::vector<std::int64_t>& numbers) const;
  void append_to(std::vector<std::int32_t>& numbers) const;
  void append_to(std::vector<float>& numbers) const;
  void append_to(std::vector<double>& numbers) const;

  const std::string_view& where() const { return where_; }
  Error damaged(std::string_view what) const;

 private:
  std::uint64_t varint();
  ByteSpan take(std::uint64_t count);
  void expect(WireKind kind) const;
  template <class T>
  void append_fixed(std::vector<T>& numbers, WireKind single) const;

  ByteSpan message_;
  std::string_view where_;
  std::size_t begin_;
  std::size_t at_ = 0;  // of what is read next, in message_
  std::size_t field_ = 0;
  int number_ = 0;
  WireKind kind_ = WireKind::kVarint;
  std::uint64_t value_ = 0;
  ByteSpan bytes_;
  int depth_ = 0;
};

}  // namespace weft::onnx
