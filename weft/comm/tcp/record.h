// Frames as bytes of a connection: a length, then the frame, sealed under a key
// of this connection and direction alone where the run has a key
// (XChaCha20-Poly1305 in libsodium's secretstream). A sealed record that was
// changed, left out, repeated or put in another place is noticed; one that is
// the last is not told from a connection that broke, which fails whoever still
// waits for it.
//
// Threads: one for each writer and for each reader.
#pragma once

#include <array>
#include <optional>
#include <sodium.h>

#include "weft/comm/codec/bytes.h"
#include "weft/comm/tcp/frame.h"

namespace weft::tcp {

using StreamKey =
    std::array<unsigned char, crypto_secretstream_xchacha20poly1305_KEYBYTES>;
// What a sealed stream begins with; it is no secret.
using StreamHeader =
    std::array<unsigned char,
               crypto_secretstream_xchacha20poly1305_HEADERBYTES>;

class RecordWriter {
 public:
  // Nothing is sealed.
  RecordWriter() = default;
  // `header` is filled in, for the reader.
  RecordWriter(const StreamKey& key, StreamHeader& header);

  // Appends the record of `frame` to `out`.
  void write(const Frame& frame, Bytes& out);

 private:
  std::optional<crypto_secretstream_xchacha20poly1305_state> stream_;
  Bytes plain_;  // a frame, before it is sealed
};

class RecordReader {
 public:
  RecordReader() = default;
  RecordReader(const StreamKey& key, const StreamHeader& header);

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
  std::span<const std::byte> open(std::span<const std::byte> record);

  std::optional<crypto_secretstream_xchacha20poly1305_state> stream_;
  Bytes buffer_;
  std::size_t begin_ = 0;  // of what has come and was not given out
  std::size_t end_ = 0;
  Bytes plain_;  // a frame whose seal was opened
};

}  // namespace weft::tcp
