#include "weft/onnx/wire.h"

#include "weft/base/utf8.h"

namespace weft::onnx {
namespace {

// Far more than any model nests functions in nodes in functions.
constexpr int kMostNesting = 64;

static_assert(std::endian::native == std::endian::little,
              "numbers are little-endian on the wire, and taken as they lie");

}  // namespace

Error WireReader::damaged(std::string_view what) const {
  return Error(ErrorCode::kDataLoss, where_, "damaged ONNX model: {}", what)
      .detail(fmt::format("at byte {}", begin_ + field_))
      .hint("is it an ONNX file, and whole?");
}

std::uint64_t WireReader::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (at_ == message_.size()) throw damaged("a number is cut short");
    const std::uint8_t byte = message_[at_++];
    value |= static_cast<std::uint64_t>(byte & 0x7fu) << shift;
    if ((byte & 0x80u) == 0) return value;
  }
  throw damaged("a number of more than 64 bits");
}

ByteSpan WireReader::take(std::uint64_t count) {
  // Compared with what is left, the count cannot wrap around.
  if (count > message_.size() - at_) {
    throw damaged(
        fmt::format("a field of {} bytes goes beyond the end", count));
  }
  const ByteSpan taken = message_.subspan(at_, count);
  at_ += count;
  return taken;
}

bool WireReader::next() {
  field_ = at_;
  if (at_ == message_.size()) return false;
  const std::uint64_t tag = varint();
  const std::uint64_t number = tag >> 3;
  if (number == 0 || number >= (1u << 29))
    throw damaged("no field has this number");
  number_ = static_cast<int>(number);
  switch (tag & 7) {
    case 0:
      kind_ = WireKind::kVarint;
      value_ = varint();
      return true;
    case 1:
      kind_ = WireKind::kFixed64;
      bytes_ = take(8);
      return true;
    case 2:
      kind_ = WireKind::kBytes;
      bytes_ = take(varint());
      return true;
    case 5:
      kind_ = WireKind::kFixed32;
      bytes_ = take(4);
      return true;
    default:
      throw damaged("a field of no known kind");
  }
}

void WireReader::expect(WireKind kind) const {
  if (kind_ != kind) {
    throw damaged(fmt::format("field {} is of another kind", number_));
  }
}

std::int64_t WireReader::integer() const {
  expect(WireKind::kVarint);
  return static_cast<std::int64_t>(value_);
}

float WireReader::real() const {
  expect(WireKind::kFixed32);
  float value;
  std::memcpy(&value, bytes_.data(), sizeof value);
  return value;
}

ByteSpan WireReader::bytes() const {
  expect(WireKind::kBytes);
  return bytes_;
}

std::string_view WireReader::text() const {
  const ByteSpan all = bytes();
  const std::string_view text(reinterpret_cast<const char*>(all.data()),
                              all.size());
  if (!is_utf8(text)) throw damaged("a text is no UTF-8");
  return text;
}

WireReader WireReader::message() const {
  if (depth_ == kMostNesting) throw damaged("messages nest too deep");
  const ByteSpan inner = bytes();
  WireReader reader(
      inner, where_,
      begin_ + static_cast<std::size_t>(inner.data() - message_.data()));
  reader.depth_ = depth_ + 1;
  return reader;
}

void WireReader::append_to(std::vector<std::int64_t>& numbers) const {
  if (kind_ == WireKind::kVarint) {
    numbers.push_back(static_cast<std::int64_t>(value_));
    return;
  }
  WireReader packed(bytes(), where_, begin_ + field_);
  while (packed.at_ < packed.message_.size()) {
    numbers.push_back(static_cast<std::int64_t>(packed.varint()));
  }
}

void WireReader::append_to(std::vector<std::int32_t>& numbers) const {
  std::vector<std::int64_t> wide;
  append_to(wide);
  for (const std::int64_t number : wide) {
    numbers.push_back(static_cast<std::int32_t>(number));
  }
}

template <class T>
void WireReader::append_fixed(std::vector<T>& numbers, WireKind single) const {
  if (kind_ != single) expect(WireKind::kBytes);
  if (bytes_.size() % sizeof(T) != 0) throw damaged("a list is cut short");
  const std::size_t before = numbers.size();
  numbers.resize(before + bytes_.size() / sizeof(T));
  // An empty list may have no memory at all.
  if (!bytes_.empty()) {
    std::memcpy(numbers.data() + before, bytes_.data(), bytes_.size());
  }
}

void WireReader::append_to(std::vector<float>& numbers) const {
  append_fixed(numbers, WireKind::kFixed32);
}

void WireReader::append_to(std::vector<double>& numbers) const {
  append_fixed(numbers, WireKind::kFixed64);
}

}  // namespace weft::onnx
