#include "weft/base/wire_writer.h"

#include <bit>
#include <cstring>

namespace weft {

static_assert(std::endian::native == std::endian::little,
              "numbers are little-endian on the wire, and taken as they lie");

void WireWriter::varint(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) {
    written_.push_back(static_cast<char>((value & 0x7f) | 0x80));
  }
  written_.push_back(static_cast<char>(value));
}

void WireWriter::tag(int field, WireKind kind) {
  varint(static_cast<std::uint64_t>(field) << 3 |
         static_cast<std::uint64_t>(kind));
}

void WireWriter::integer(int field, std::int64_t value) {
  tag(field, WireKind::kVarint);
  varint(static_cast<std::uint64_t>(value));
}

void WireWriter::real(int field, float value) {
  tag(field, WireKind::kFixed32);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  written_.append(raw, sizeof value);
}

void WireWriter::real64(int field, double value) {
  tag(field, WireKind::kFixed64);
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  written_.append(raw, sizeof value);
}

void WireWriter::bytes(int field, std::string_view value) {
  tag(field, WireKind::kBytes);
  varint(value.size());
  written_.append(value);
}

void WireWriter::packed(int field, const std::vector<std::int64_t>& values) {
  WireWriter list;
  for (const std::int64_t value : values) {
    list.varint(static_cast<std::uint64_t>(value));
  }
  bytes(field, list.written_);
}

}  // namespace weft
