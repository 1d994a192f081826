#include "weft/comm/tcp/frame.h"

#include <algorithm>

#include "weft/comm/codec/bytes.h"

namespace weft::tcp {
namespace {

// Longer messages than anybody has memory for are mistakes or attacks.
constexpr std::uint64_t kMostMessage = std::uint64_t{1} << 48;

// Which fields a kind of frame has, and how much may follow its header.
struct Layout {
  bool has_tag;
  bool has_id;
  std::uint64_t most_bytes;
  std::size_t most_payload;
};

// The order is that of Frame::Kind.
constexpr Layout kLayouts[] = {
    {true, false, kMostPart, kMostPart},  // kMessage
    {true, true, kMostMessage, 0},        // kAnnounce
    {false, true, 0, 0},                  // kGrant
    {false, true, 0, kMostPart},          // kPart
    {true, true, 0, 0},                   // kWithdraw
    {false, false, kWindow, 0},           // kCredit
    {false, true, 0, kMostNoticeBytes},   // kNotice
    {false, false, 0, kMostPart},         // kMeet
    {true, true, 0, 0},                   // kSent
};

bool fits(const Frame& frame, const Layout& layout) {
  return (layout.has_tag || frame.tag == 0) &&
         (layout.has_id || frame.id == 0) && frame.bytes <= layout.most_bytes &&
         frame.payload.size() <= layout.most_payload;
}

// Whether what a frame says of itself can be.
bool is_consistent(const Frame& frame) {
  switch (frame.kind) {
    case Frame::Kind::kMessage:
      return frame.bytes == frame.payload.size();
    case Frame::Kind::kPart:
      return !frame.payload.empty();
    case Frame::Kind::kNotice:
      return frame.id <= static_cast<std::uint32_t>(Notice::Kind::kAlive);
    default:
      return true;
  }
}

}  // namespace

std::array<std::byte, kFrameHeader> header_of(const Frame& frame) {
  std::array<std::byte, kFrameHeader> header;
  header[0] = static_cast<std::byte>(frame.kind);
  std::memcpy(header.data() + 1, &frame.tag, sizeof(frame.tag));
  std::memcpy(header.data() + 5, &frame.id, sizeof(frame.id));
  std::memcpy(header.data() + 9, &frame.bytes, sizeof(frame.bytes));
  return header;
}

Frame parse_frame(std::span<const std::byte> bytes) {
  ByteReader reader(bytes, "frame");
  const auto kind = reader.read<std::uint8_t>("kind");
  if (kind >= std::size(kLayouts)) {
    throw reader.damaged("kind", fmt::format("is {}, of which none is", kind));
  }
  Frame frame;
  frame.kind = static_cast<Frame::Kind>(kind);
  frame.tag = reader.read<Tag>("tag");
  frame.id = reader.read<std::uint32_t>("id");
  frame.bytes = reader.read<std::uint64_t>("bytes");
  frame.payload = reader.take(reader.remaining(), "payload");
  if (!fits(frame, kLayouts[kind]) || !is_consistent(frame)) {
    throw reader.damaged("header", "says what no frame of its kind says");
  }
  return frame;
}

}  // namespace weft::tcp
