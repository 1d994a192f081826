// Packets from one process to another through memory that both map: a ring,
// written by one and read by the other.
//
// The memory begins with zeros, at an address divisible by 8. It holds how
// many bytes have been written and read so far, each on a cache line of its
// own, and then the ring.
//
// Threads: one writes and one reads; they may be of different processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "weft/comm/transport/fold.h"

namespace weft {

struct PacketHeader {
  std::uint32_t tag = 0;
  // Only this header is in the pipe; the message takes another way.
  std::uint32_t is_announcement = 0;
  std::uint64_t bytes = 0;  // of the message
};

// What both ends know: where the counters and the ring are.
class PipeMemory {
 public:
  // `capacity`, of the ring, is a power of two of at least 256.
  static std::size_t size_for(std::size_t capacity);
  PipeMemory(std::byte* memory, std::size_t capacity);

  std::size_t capacity() const { return capacity_; }
  std::uint64_t* written() const;
  std::uint64_t* read() const;
  // Positions count on for ever; the ring is where they are modulo capacity.
  void copy_in(std::uint64_t position, std::span<const std::byte> from) const;
  void copy_out(std::uint64_t position, std::span<std::byte> to) const;
  // As copy_out(), but combines. Packets start on lines, so none of the pieces
  // splits 16 bytes.
  void fold_out(std::uint64_t position, std::span<std::byte> into,
                Fold fold) const;

 private:
  std::byte* memory_;
  std::size_t capacity_;
};

class PipeWriter {
 public:
  explicit PipeWriter(PipeMemory memory) : memory_(memory) {}

  // The longest message: two of them fit into the ring.
  std::size_t most_bytes() const;
  // False, and nothing is written, while there is no room. `message` is empty
  // for an announcement.
  bool write(const PacketHeader& header, std::span<const std::byte> message);

 private:
  PipeMemory memory_;
  std::uint64_t written_ = 0;
  std::uint64_t read_ = 0;  // as last seen
};

class PipeReader {
 public:
  explicit PipeReader(PipeMemory memory) : memory_(memory) {}

  // The header of the next packet, if one has come. Throws Error(kDataLoss) for
  // one that no packet that was written can have.
  std::optional<PacketHeader> next();
  // Copies the beginning of the next packet's message, `room.size()` bytes,
  // and removes the packet. With a `fold` combines them with what is there.
  void take(const PacketHeader& header, std::span<std::byte> room,
            Fold fold = nullptr);

 private:
  PipeMemory memory_;
  std::uint64_t read_ = 0;
  std::uint64_t written_ = 0;  // as last seen
};

}  // namespace weft
