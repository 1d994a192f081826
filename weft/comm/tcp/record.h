// Frames as bytes of a connection: a length, then the frame, sealed (seal.h)
// with the number of the record where the run has a key. A sealed record that
// was changed, left out, repeated or put in another place is noticed; one that
// is the last is not told from a connection that broke, which fails whoever
// still waits for it.
//
// Threads: one for each writer and for each reader.
#pragma once

#include <optional>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/frame.h"
#include "weft/comm/tcp/seal.h"

namespace weft::tcp {

class RecordWriter {
 public:
  // Nothing is sealed.
  RecordWriter() = default;
  explicit RecordWriter(const SealKey& key) : sealer_(key) {}

  // Appends the record of `frame` to `out`.
  void write(const Frame& frame, Bytes& out);

 private:
  std::optional<Sealer> sealer_;
  std::uint64_t number_ = 0;  // of the next record
};

class RecordReader {
 public:
  RecordReader() = default;
  explicit RecordReader(const SealKey& key) : opener_(key) {}

  // Where further bytes go, as many as there is room for, at least one.
  std::span<std::byte> room();
  // The same, when nothing that came will be read any more.
  std::span<std::byte> drop_all();
  // So many have been written there.
  void came(std::size_t bytes) { end_ += bytes; }
  // The frame of the next record, if all of it has come; until the next call of
  // any of these. Throws Error(kDataLoss) for a length that no record has, for
  // a seal that is broken, and for what is no frame.
  std::optional<Frame> next();

 private:
  std::span<const std::byte> open(std::span<std::byte> record);

  std::optional<Opener> opener_;
  std::uint64_t number_ = 0;  // of the next record
  Bytes buffer_;
  std::size_t begin_ = 0;  // of what has come and was not given out
  std::size_t end_ = 0;
};

}  // namespace weft::tcp
