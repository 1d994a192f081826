#include "weft/comm/transport/resend.h"

#include <cstring>

namespace weft {
namespace {

constexpr std::size_t kPart = PartMap::kPartBytes;
constexpr int kMostCopies = 3;

using Bytes = std::vector<std::byte>;

// How often each part is in the message of a round, of which the first is 1.
std::size_t copies_in(int round) {
  return static_cast<std::size_t>(std::min(round, kMostCopies));
}

std::size_t bytes_of_answer(const PartMap& parts) {
  return (parts.parts() + 7) / 8;
}

std::vector<std::size_t> missing_in(const PartMap& came) {
  std::vector<std::size_t> missing;
  for (std::size_t part = 0; part < came.parts(); ++part) {
    if (!came.has(part)) missing.push_back(part);
  }
  return missing;
}

// One bit for each part: whether it is missing.
Bytes answer_of(const PartMap& came) {
  Bytes answer(bytes_of_answer(came));
  for (const std::size_t part : missing_in(came)) {
    answer[part / 8] |= std::byte{1} << (part % 8);
  }
  return answer;
}

std::vector<std::size_t> missing_in(std::span<const std::byte> answer,
                                    std::size_t parts) {
  std::vector<std::size_t> missing;
  for (std::size_t part = 0; part < 8 * answer.size(); ++part) {
    if ((answer[part / 8] >> (part % 8) & std::byte{1}) == std::byte{0})
      continue;
    if (part >= parts) return {parts};  // there is no such part
    missing.push_back(part);
  }
  return missing;
}

// Each part has the room of a whole one, so that it is a datagram of its own.
Bytes parts_again(std::span<const std::byte> bytes, const PartMap& parts,
                  std::span<const std::size_t> missing, std::size_t copies) {
  Bytes again(copies * missing.size() * kPart);
  for (std::size_t i = 0; i < copies * missing.size(); ++i) {
    const std::size_t part = missing[i % missing.size()];
    std::memcpy(again.data() + i * kPart, bytes.data() + parts.begin(part),
                parts.size(part));
  }
  return again;
}

Task<> receive_again(Channel channel, int from, std::span<std::byte> room,
                     PartMap& came, std::size_t copies) {
  const std::vector<std::size_t> missing = missing_in(came);
  Bytes again(copies * missing.size() * kPart);
  PartMap came_again;
  Transfer received = channel.receive_lossy(from, again, came_again);
  co_await received;
  for (std::size_t i = 0; i < copies * missing.size(); ++i) {
    if (!came_again.has(i)) continue;
    const std::size_t part = missing[i % missing.size()];
    std::memcpy(room.data() + came.begin(part), again.data() + i * kPart,
                came.size(part));
    came.mark(part);
  }
}

}  // namespace

Task<> send_until_whole(Channel channel, int to,
                        std::span<const std::byte> bytes) {
  WEFT_CHECK(channel.transport().carries_payload());
  PartMap parts;
  parts.reset(bytes.size());
  Bytes again;
  std::span<const std::byte> next = bytes;
  for (int round = 1; !next.empty(); ++round) {
    Transfer sent = channel.send_lossy(to, next);
    Bytes answer(bytes_of_answer(parts));
    Transfer answered = channel.receive(to, answer);
    co_await sent;
    const std::size_t came = co_await answered;
    const auto missing = missing_in(answer, parts.parts());
    if (came != answer.size() ||
        (!missing.empty() && missing.back() == parts.parts())) {
      throw Error(ErrorCode::kDataLoss, channel.operation().text,
                  "rank {} does not say which of {} parts are missing", to,
                  parts.parts());
    }
    again = parts_again(bytes, parts, missing, copies_in(round + 1));
    next = again;
  }
}

Task<> receive_until_whole(Channel channel, int from,
                           std::span<std::byte> room) {
  WEFT_CHECK(channel.transport().carries_payload());
  if (room.empty()) co_return;
  PartMap came;
  Transfer received = channel.receive_lossy(from, room, came);
  co_await received;
  for (int round = 2;; ++round) {
    const Bytes answer = answer_of(came);
    Transfer answered = channel.send(from, answer);
    if (came.is_complete()) {
      co_await answered;
      co_return;
    }
    co_await receive_again(channel, from, room, came, copies_in(round));
    co_await answered;
  }
}

}  // namespace weft
