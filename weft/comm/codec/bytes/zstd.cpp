// Zstandard frames (RFC 8878).
#include <zstd.h>

#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

class Zstd final : public ByteCodec {
 public:
  explicit Zstd(int level) : level_(level) {}

  void encode(std::span<const std::byte> bytes,
              ByteWriter& out) const override {
    const std::size_t begin = out.size();
    const std::size_t bound = ZSTD_compressBound(bytes.size());
    // It compresses straight into the message: room for the worst case is
    // taken, and what is left over given back.
    const std::size_t size = ZSTD_compress(out.room(bound), bound, bytes.data(),
                                           bytes.size(), level_);
    WEFT_CHECK(!ZSTD_isError(size), "{}", ZSTD_getErrorName(size));
    out.truncate(begin + size);
  }

  void decode(std::span<const std::byte> in, std::size_t most,
              Bytes& bytes) const override {
    const auto fail = [](std::string_view reason) {
      return Error(ErrorCode::kDataLoss, "zstd", "the frame {}", reason);
    };
    // Senders state the size; only what the receiver expects is taken.
    const unsigned long long size =
        ZSTD_getFrameContentSize(in.data(), in.size());
    if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
      throw fail("has no size");
    }
    if (size > most) {
      throw fail(
          fmt::format("unpacks to {} bytes, more than the {} that this "
                      "tensor can need",
                      size, most));
    }
    // The frame's own size was checked against `most`, so it may be trusted
    // with memory now.
    const std::size_t begin = bytes.size();
    bytes.resize(begin + static_cast<std::size_t>(size));
    const std::size_t unpacked = ZSTD_decompress(
        bytes.data() + begin, bytes.size() - begin, in.data(), in.size());
    if (ZSTD_isError(unpacked)) {
      throw fail(fmt::format("is damaged: {}", ZSTD_getErrorName(unpacked)));
    }
    if (unpacked != size) throw fail("is shorter than it says");
  }

 private:
  int level_;
};

std::unique_ptr<ByteCodec> make_zstd(const Options& options) {
  return std::make_unique<Zstd>(
      static_cast<int>(option<std::int64_t>(options, "level")));
}

}  // namespace

void register_byte_codec_zstd(ByteCodecRegistry& codecs) {
  codecs.add(
      {.name = "zstd",
       .summary = "Zstandard",
       .options = {{"level",
                    std::int64_t{1},
                    "how hard it tries: 1 is fastest, 22 smallest",
                    // ZSTD_maxCLevel(), which a recipe may not depend on.
                    {.least = 1, .most = 22}}},
       .make = make_zstd});
}

}  // namespace weft
