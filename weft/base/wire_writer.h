// Writes messages of protocol buffers, as far as ONNX and TensorBoard use them:
// fields of numbers and of runs of bytes, each behind its number and kind.
//
// Threads: value types.
// Source:  Protocol Buffers, "Encoding", protobuf.dev/programming-guides.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

enum class WireKind { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// Messages being written, one field after another.
class WireWriter {
 public:
  // Fields that have their default, 0 or nothing, are written too: who calls
  // this wants them.
  void integer(int field, std::int64_t value);
  void real(int field, float value);
  void real64(int field, double value);
  void bytes(int field, std::string_view value);
  void message(int field, const WireWriter& inner) {
    bytes(field, inner.written());
  }
  void packed(int field, const std::vector<std::int64_t>& values);

  // The fields of another message, behind those of this one.
  void append(const WireWriter& other) { written_ += other.written_; }

  const std::string& written() const { return written_; }

 private:
  void tag(int field, WireKind kind);
  void varint(std::uint64_t value);

  std::string written_;
};

}  // namespace weft
