#include "weft/base/libraries/gzip.h"

#include <algorithm>
#include <limits>
#include <string>
#include <zlib.h>

namespace weft {
namespace {

// Room is doubled as it is needed: the size at the end of a gzip file is that
// of its last member alone, modulo 2^32.
constexpr std::size_t kFirstPiece = std::size_t{64} << 10;
constexpr int kGzipOnly = 16 + MAX_WBITS;  // zlib's way to say "gzip header"

// zlib's state, freed on every way out.
class Inflater {
 public:
  Inflater() {
    if (inflateInit2(&stream_, kGzipOnly) != Z_OK) {
      throw Error(ErrorCode::kExhausted, "gunzip", "no memory for zlib");
    }
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
  ~Inflater() { inflateEnd(&stream_); }

  z_stream& operator*() { return stream_; }
  z_stream* operator->() { return &stream_; }

 private:
  z_stream stream_{};
};

uInt clamp_to_uint(std::size_t size) {
  // zlib counts in 32 bits, so larger data go in pieces.
  return static_cast<uInt>(
      std::min<std::size_t>(size, std::numeric_limits<uInt>::max()));
}

[[noreturn]] void throw_damaged(std::string_view where, std::size_t offset,
                                std::string_view reason) {
  throw Error(ErrorCode::kDataLoss, where, "byte {}: damaged gzip data: {}",
              offset, reason);
}

// Doubles `bytes`, up to `limit`.
void grow(std::vector<std::uint8_t>& bytes, std::size_t limit,
          std::string_view where) {
  if (bytes.size() >= limit) {
    throw Error(ErrorCode::kExhausted, where,
                "unpacks to more than the {} bytes allowed here", limit);
  }
  bytes.resize(std::min(limit, std::max(kFirstPiece, bytes.size() * 2)));
}

}  // namespace

bool is_gzip(ByteSpan bytes) {
  // RFC 1952, section 2.3.1, fixes these two bytes.
  return bytes.size() >= 2 && bytes[0] == 0x1f && bytes[1] == 0x8b;
}

std::vector<std::uint8_t> gunzip(ByteSpan packed, std::string_view where,
                                 std::size_t limit) {
  Inflater inflater;
  std::vector<std::uint8_t> result;
  std::size_t consumed = 0;
  std::size_t produced = 0;
  // One spare byte tells "exactly the limit" from "more than the limit".
  const std::size_t room = limit == SIZE_MAX ? limit : limit + 1;
  for (;;) {
    if (produced == result.size()) grow(result, room, where);
    const uInt input = clamp_to_uint(packed.size() - consumed);
    const uInt output = clamp_to_uint(result.size() - produced);
    inflater->next_in = const_cast<Bytef*>(packed.data() + consumed);
    inflater->avail_in = input;
    inflater->next_out = result.data() + produced;
    inflater->avail_out = output;
    // Z_BUF_ERROR says that zlib could not go on: with input left it only wants
    // more room, and gets it in the next round.
    const int status = inflate(&*inflater, Z_NO_FLUSH);
    consumed += input - inflater->avail_in;
    produced += output - inflater->avail_out;
    // grow() knows the message, and refuses whatever is at the limit.
    if (produced > limit) grow(result, limit, where);

    if (status == Z_STREAM_END) {
      if (consumed == packed.size()) break;
      inflateReset(&*inflater);  // another member follows
    } else if (status == Z_BUF_ERROR && consumed == packed.size()) {
      throw_damaged(where, consumed, "the file ends too early");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      throw_damaged(where, consumed,
                    inflater->msg ? inflater->msg : "unknown format");
    }
  }
  result.resize(produced);
  return result;
}

UnpackedFile::UnpackedFile(const std::filesystem::path& path, std::size_t limit)
    : map_(path) {
  if (!is_gzip(map_.bytes())) return;
  unpacked_ = gunzip(map_.bytes(), path.string(), limit);
  // Doubling may have left half of it unused, and data sets stay in memory.
  unpacked_.shrink_to_fit();
  is_packed_ = true;
  map_ = MappedFile();
}

}  // namespace weft
