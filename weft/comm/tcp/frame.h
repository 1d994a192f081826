// What two ranks of a TCP network send each other once they have met: frames,
// each with a header of a fixed size and at most 64 KiB behind it.
//
// A short message is one frame, sent unasked for as long as its receiver has
// granted memory for it (kWindow). A longer one is announced and sent when its
// receive is there, cut into parts, so that an urgent message need not wait
// for a long one and nobody has to keep what no receive has asked for.
//
// Nothing that a frame says is believed: sizes and kinds are bounded here, and
// what does not fit the messages under way is refused by whoever keeps these
// (inbox.h, outbox.h).
//
// Threads: value types and pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/comm/transport/transport.h"

namespace weft::tcp {

struct Frame {
  enum class Kind : std::uint8_t {
    kMessage,   // a whole message of `tag`
    kAnnounce,  // message `id`, of `tag`, has `bytes` and waits for a grant
    kGrant,     // the receive of message `id` is there
    kPart,      // the next bytes of message `id`
    kWithdraw,  // no more will come of message `id`, of `tag`
    kCredit,    // `bytes` of whole messages were taken from where they waited
    kNotice,    // `id` is the kind of the notice
    kMeet,      // says who and where ranks are while they meet
    kSent,      // all parts of lossy message `id` of `tag` have been sent
  };

  Kind kind = Kind::kMessage;
  Tag tag = 0;
  std::uint32_t id = 0;
  std::uint64_t bytes = 0;
  std::span<const std::byte> payload = {};
};

inline constexpr std::size_t kMostPart = std::size_t{64} << 10;
inline constexpr std::size_t kFrameHeader = 17;
inline constexpr std::size_t kMostFrame = kFrameHeader + kMostPart;
// How much of whole messages one rank may have sent another that this has no
// receive for. What a message costs beside its bytes is counted with it.
inline constexpr std::size_t kWindow = std::size_t{4} << 20;
inline constexpr std::size_t kMessageCost = 64;

std::array<std::byte, kFrameHeader> header_of(const Frame& frame);

// The frame that `bytes` are; its payload is a part of them. Throws
// Error(kDataLoss) for bytes that are none.
Frame parse_frame(std::span<const std::byte> bytes);

}  // namespace weft::tcp
