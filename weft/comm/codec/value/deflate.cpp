// The values as raw f32, deflated. Lossless.
//
// Layout: varint bytes of the deflated values, these.
#include <algorithm>
#include <cmath>
#include <libdeflate.h>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/magnitude.h"

namespace weft {
namespace {

struct FreeCompressor {
  void operator()(libdeflate_compressor* compressor) const {
    libdeflate_free_compressor(compressor);
  }
};
struct FreeDecompressor {
  void operator()(libdeflate_decompressor* decompressor) const {
    libdeflate_free_decompressor(decompressor);
  }
};

[[noreturn]] void throw_exhausted() {
  throw Error(ErrorCode::kExhausted, "deflate", "no memory for libdeflate");
}

class DeflateValueCodec final : public ValueCodec {
 public:
  explicit DeflateValueCodec(int level) : level_(level) {}

  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const override {
    // A compressor has state and a codec has none, as threads share it: each
    // message has a compressor of its own.
    const std::unique_ptr<libdeflate_compressor, FreeCompressor> compressor(
        libdeflate_alloc_compressor(level_));
    if (!compressor) throw_exhausted();
    Bytes deflated(libdeflate_deflate_compress_bound(compressor.get(),
                                                     values.size_bytes()));
    const std::size_t size = libdeflate_deflate_compress(
        compressor.get(), values.data(), values.size_bytes(), deflated.data(),
        deflated.size());
    WEFT_CHECK(size > 0, "the bound of libdeflate holds");
    out.write_varint(size);
    out.write_all(std::span<const std::byte>(deflated).first(size));
    // Deflating loses nothing, so nothing is left for later messages.
    std::fill(residual.begin(), residual.end(), 0.0f);
  }

  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    const std::uint64_t size = in.read_varint("bytes of the values");
    const auto deflated = in.take(static_cast<std::size_t>(size), "values");
    const std::unique_ptr<libdeflate_decompressor, FreeDecompressor>
        decompressor(libdeflate_alloc_decompressor());
    if (!decompressor) throw_exhausted();
    std::size_t consumed = 0;
    const libdeflate_result result = libdeflate_deflate_decompress_ex(
        decompressor.get(), deflated.data(), deflated.size(), values.data(),
        values.size_bytes(), &consumed, nullptr);
    // Bytes that are left over are damage too: nobody has written them.
    if (result != LIBDEFLATE_SUCCESS || consumed != deflated.size()) {
      throw in.damaged("values", "do not inflate to their number");
    }
    // Deflate has no check sum; what is damaged may still inflate.
    if (!std::isfinite(largest_magnitude(values))) {
      throw in.damaged("values", "holds a value that is not finite");
    }
  }

  bool is_lossless() const override { return true; }

 private:
  int level_;
};

std::unique_ptr<ValueCodec> make_deflate(const Options& options) {
  return std::make_unique<DeflateValueCodec>(
      static_cast<int>(option<std::int64_t>(options, "level")));
}

}  // namespace

void register_value_codec_deflate(ValueCodecRegistry& codecs) {
  codecs.add({.name = "deflate",
              .summary = "raw f32, deflated",
              .options = {{"level",
                           std::int64_t{6},
                           "how hard it tries: 1 is fastest, 12 smallest",
                           {.least = 1, .most = 12}}},
              .make = make_deflate});
}

}  // namespace weft
