#include "weft/comm/transport/shared_pipe.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "weft/base/error.h"

namespace weft {
namespace {

constexpr std::size_t kLine = 64;  // of the cache
constexpr std::size_t kRing = 2 * kLine;
constexpr std::size_t kLeastCapacity = 4 * kLine;

// A packet starts on a line: neither end touches what the other works on, and
// no header is split by the end of the ring.
std::size_t packet_bytes(const PacketHeader& header) {
  const std::size_t message = header.is_announcement != 0 ? 0 : header.bytes;
  return (sizeof(PacketHeader) + message + kLine - 1) / kLine * kLine;
}

}  // namespace

std::size_t PipeMemory::size_for(std::size_t capacity) {
  return kRing + capacity;
}

PipeMemory::PipeMemory(std::byte* memory, std::size_t capacity)
    : memory_(memory), capacity_(capacity) {
  WEFT_CHECK(std::has_single_bit(capacity) && capacity >= kLeastCapacity);
  WEFT_CHECK(reinterpret_cast<std::uintptr_t>(memory) %
                 std::atomic_ref<std::uint64_t>::required_alignment ==
             0);
}

std::uint64_t* PipeMemory::written() const {
  return reinterpret_cast<std::uint64_t*>(memory_);
}

std::uint64_t* PipeMemory::read() const {
  return reinterpret_cast<std::uint64_t*>(memory_ + kLine);
}

void PipeMemory::copy_in(std::uint64_t position,
                         std::span<const std::byte> from) const {
  if (from.empty()) return;
  const std::size_t begin = position & (capacity_ - 1);
  const std::size_t before_end = std::min(from.size(), capacity_ - begin);
  std::memcpy(memory_ + kRing + begin, from.data(), before_end);
  std::memcpy(memory_ + kRing, from.data() + before_end,
              from.size() - before_end);
}

void PipeMemory::copy_out(std::uint64_t position,
                          std::span<std::byte> to) const {
  if (to.empty()) return;
  const std::size_t begin = position & (capacity_ - 1);
  const std::size_t before_end = std::min(to.size(), capacity_ - begin);
  std::memcpy(to.data(), memory_ + kRing + begin, before_end);
  std::memcpy(to.data() + before_end, memory_ + kRing, to.size() - before_end);
}

void PipeMemory::fold_out(std::uint64_t position, std::span<std::byte> into,
                          Fold fold) const {
  const std::size_t begin = position & (capacity_ - 1);
  const std::size_t before_end = std::min(into.size(), capacity_ - begin);
  fold(memory_ + kRing + begin, into.data(), before_end);
  if (before_end == into.size()) return;
  fold(memory_ + kRing, into.data() + before_end, into.size() - before_end);
}

std::size_t PipeWriter::most_bytes() const {
  // So one message can be written while the one before is read. A header adds
  // less than a line.
  return memory_.capacity() / 2 - kLine;
}

bool PipeWriter::write(const PacketHeader& header,
                       std::span<const std::byte> message) {
  const std::size_t size = packet_bytes(header);
  WEFT_CHECK(message.size() <= most_bytes());
  // The reader's counter is looked at only when the ring seems full: its cache
  // line is the reader's, and each look takes it away from there. The acquire
  // goes with the release in take(), so the bytes are no longer being read when
  // they are overwritten.
  if (written_ + size - read_ > memory_.capacity()) {
    read_ = std::atomic_ref(*memory_.read()).load(std::memory_order_acquire);
    if (written_ + size - read_ > memory_.capacity()) return false;
  }
  memory_.copy_in(written_, std::as_bytes(std::span(&header, 1)));
  memory_.copy_in(written_ + sizeof(header), message);
  written_ += size;
  // The count is moved last and by a release: a reader that sees it sees the
  // whole packet.
  std::atomic_ref(*memory_.written())
      .store(written_, std::memory_order_release);
  return true;
}

std::optional<PacketHeader> PipeReader::next() {
  // As in write(), the other's counter is read only when nothing else is left.
  if (read_ == written_) {
    written_ =
        std::atomic_ref(*memory_.written()).load(std::memory_order_acquire);
    if (read_ == written_) return std::nullopt;
  }
  PacketHeader header;
  memory_.copy_out(read_, std::as_writable_bytes(std::span(&header, 1)));
  // This is asked before sizes are added up, as a damaged one may be near 2^64.
  const bool is_whole =
      header.is_announcement <= 1 &&
      (header.is_announcement == 1 || header.bytes <= memory_.capacity()) &&
      packet_bytes(header) <= written_ - read_ &&
      written_ - read_ <= memory_.capacity();
  if (!is_whole) {
    throw Error(ErrorCode::kDataLoss, "shared memory",
                "the header of a message of {} bytes is damaged: {} bytes were "
                "written",
                header.bytes, written_ - read_);
  }
  return header;
}

void PipeReader::take(const PacketHeader& header, std::span<std::byte> room,
                      Fold fold) {
  WEFT_CHECK(room.size() <= header.bytes);
  const std::uint64_t message = read_ + sizeof(header);
  if (fold == nullptr) {
    memory_.copy_out(message, room);
  } else {
    memory_.fold_out(message, room, fold);
  }
  // The room is given back after the copy, so the writer cannot overtake it.
  read_ += packet_bytes(header);
  std::atomic_ref(*memory_.read()).store(read_, std::memory_order_release);
}

}  // namespace weft
