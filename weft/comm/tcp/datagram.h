// Parts of messages that may be lost, each a datagram.
//
// Where the run has a key each is sealed by itself (seal.h), by its number.
// What was forged, changed, repeated or delayed beyond measure is dropped
// without a word, as any stranger can send datagrams. Without a key they are
// taken as they come, on the loopback interface.
//
// Threads: one for each side.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/seal.h"
#include "weft/comm/transport/transport.h"

namespace weft::tcp {

// Those of the two directions between this rank and another.
struct DatagramKeys {
  SealKey own = {};
  SealKey other = {};
};

struct Datagram {
  Tag tag = 0;
  std::uint32_t message = 0;  // its number among those of this tag
  std::uint32_t part = 0;
  std::uint64_t bytes = 0;  // of the whole message
  std::span<const std::byte> payload = {};
};

// With its seal, without the headers of UDP and IP.
inline constexpr std::size_t kMostDatagram = 12 + 20 + PartMap::kPartBytes + 16;

// Which rank a datagram says that it is from, before anything is believed of
// it; nothing for what is too short.
std::optional<std::uint32_t> sender_of(std::span<const std::byte> datagram);

class DatagramSealer {
 public:
  // `rank`: this one.
  DatagramSealer(std::uint32_t rank, const std::optional<SealKey>& key)
      : rank_(rank), sealer_(key) {}

  // Replaces `out` by the next datagram.
  void seal(const Datagram& datagram, Bytes& out);

 private:
  std::uint32_t rank_;
  std::optional<Sealer> sealer_;
  std::uint64_t number_ = 0;  // of the next
};

class DatagramOpener {
 public:
  explicit DatagramOpener(const std::optional<SealKey>& key);

  // What a datagram holds, until the next call; nothing for one that is not to
  // be believed.
  std::optional<Datagram> open(std::span<const std::byte> sealed);

 private:
  bool is_new(std::uint64_t number) const;
  void note(std::uint64_t number);

  std::optional<Opener> opener_;
  Bytes opened_;
  // Which of the last numbers have come, as far back as is looked.
  std::vector<bool> seen_;
  std::uint64_t next_ = 0;  // above all that have come
};

}  // namespace weft::tcp
