// Plain f32.
#include <algorithm>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/f32_bytes.h"

namespace weft {
namespace {

class PlainValueCodec final : public ValueCodec {
 public:
  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const override {
    out.write_all(values);
    // What is sent whole leaves nothing behind.
    std::fill(residual.begin(), residual.end(), 0.0f);
  }
  void decode(ByteReader& in, const MessageId&,
              std::span<float> values) const override {
    read_floats(in, values);
  }
  bool is_lossless() const override { return true; }
  std::string_view summable_as() const override { return "f32"; }
};

}  // namespace

void register_value_codec_none(ValueCodecRegistry& codecs) {
  codecs.add({.name = "none",
              .summary = "plain f32",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<ValueCodec> {
                return std::make_unique<PlainValueCodec>();
              }});
}

}  // namespace weft
