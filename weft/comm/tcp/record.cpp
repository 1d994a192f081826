#include "weft/comm/tcp/record.h"

#include <cstring>

namespace weft::tcp {
namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint32_t);
constexpr std::size_t kMostRecord = kLengthBytes + kMostFrame + kSealBytes;
// Several records come with one call of the system.
constexpr std::size_t kReadBytes = 4 * kMostRecord;

}  // namespace

void RecordWriter::write(const Frame& frame, Bytes& out) {
  const auto header = header_of(frame);
  const std::size_t size = header.size() + frame.payload.size();
  ByteWriter writer(out);
  writer.write(static_cast<std::uint32_t>(size + (sealer_ ? kSealBytes : 0)));
  if (!sealer_) {
    writer.write_all<std::byte>(header);
    writer.write_all(frame.payload);
    return;
  }
  std::byte* record = writer.room(size + kSealBytes);
  sealer_->begin(number_++);
  sealer_->hide(header, record);
  sealer_->hide(frame.payload, record + header.size());
  sealer_->end(record + size);
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
  const std::size_t seal = opener_ ? kSealBytes : 0;
  if (length < kFrameHeader + seal || length > kMostFrame + seal) {
    throw Error(ErrorCode::kDataLoss, "record",
                "a length of {} bytes is that of no record", length);
  }
  if (there < kLengthBytes + length) return std::nullopt;
  const auto record = std::span(buffer_).subspan(begin_ + kLengthBytes, length);
  begin_ += kLengthBytes + length;
  return parse_frame(open(record));
}

std::span<const std::byte> RecordReader::open(std::span<std::byte> record) {
  if (!opener_) return record;
  if (!opener_->open(number_++, {}, record)) {
    throw Error(ErrorCode::kDataLoss, "record",
                "a seal is broken: bytes were changed on their way");
  }
  return record.first(record.size() - kSealBytes);
}

}  // namespace weft::tcp
