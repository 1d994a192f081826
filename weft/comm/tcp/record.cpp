#include "weft/comm/tcp/record.h"

#include "weft/comm/tcp/sodium_bytes.h"

namespace weft::tcp {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kSealBytes = crypto_secretstream_xchacha20poly1305_ABYTES;
constexpr std::size_t kMostRecord = kLengthBytes + kMostFrame + kSealBytes;
// Several records come with one call of the system.
constexpr std::size_t kReadBytes = 4 * kMostRecord;

}  // namespace

RecordWriter::RecordWriter(const StreamKey& key, StreamHeader& header)
    : stream_(std::in_place) {
  crypto_secretstream_xchacha20poly1305_init_push(&*stream_, header.data(),
                                                  key.data());
}

void RecordWriter::write(const Frame& frame, Bytes& out) {
  const auto header = header_of(frame);
  const std::size_t size = header.size() + frame.payload.size();
  ByteWriter writer(out);
  if (!stream_) {
    writer.write(static_cast<std::uint32_t>(size));
    writer.write_all<std::byte>(header);
    writer.write_all(frame.payload);
    return;
  }
  // The cipher wants what it seals in one piece.
  plain_.clear();
  ByteWriter plain(plain_);
  plain.write_all<std::byte>(header);
  plain.write_all(frame.payload);
  writer.write(static_cast<std::uint32_t>(size + kSealBytes));
  crypto_secretstream_xchacha20poly1305_push(
      &*stream_, raw(writer.room(size + kSealBytes)), nullptr,
      raw(plain_.data()), size, nullptr, 0, /*tag=*/0);
}

RecordReader::RecordReader(const StreamKey& key, const StreamHeader& header)
    : stream_(std::in_place), plain_(kMostFrame) {
  crypto_secretstream_xchacha20poly1305_init_pull(&*stream_, header.data(),
                                                  key.data());
}

std::span<std::byte> RecordReader::room() {
  // Strangers who are turned away cost no buffer.
  buffer_.resize(kReadBytes);
  // What is left of a record moves to the front: less than one, if all that had
  // come was given out before.
  std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  return std::span(buffer_).subspan(end_);
}

std::span<std::byte> RecordReader::drop_all() {
  end_ = begin_;
  return room();
}

std::optional<Frame> RecordReader::next() {
  const std::size_t there = end_ - begin_;
  if (there < kLengthBytes) return std::nullopt;
  std::uint32_t length = 0;
  std::memcpy(&length, buffer_.data() + begin_, kLengthBytes);
  const std::size_t seal = stream_ ? kSealBytes : 0;
  if (length < kFrameHeader + seal || length > kMostFrame + seal) {
    throw Error(ErrorCode::kDataLoss, "record",
                "a length of {} bytes is that of no record", length);
  }
  if (there < kLengthBytes + length) return std::nullopt;
  const auto record = std::span(buffer_).subspan(begin_ + kLengthBytes, length);
  begin_ += kLengthBytes + length;
  return parse_frame(open(record));
}

std::span<const std::byte> RecordReader::open(
    std::span<const std::byte> record) {
  if (!stream_) return record;
  const std::size_t size = record.size() - kSealBytes;
  if (crypto_secretstream_xchacha20poly1305_pull(
          &*stream_, raw(plain_.data()), nullptr, /*tag=*/nullptr,
          raw(record.data()), record.size(), nullptr, 0) != 0) {
    throw Error(ErrorCode::kDataLoss, "record",
                "a seal is broken: bytes were changed on their way");
  }
  return std::span(plain_).first(size);
}

}  // namespace weft::tcp
