// A value codec that reads its values once, front to back: the same pass
// encodes them with a memory and without.
//
// Threads: codecs are immutable.
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_COMM_CODEC_STREAM_CODEC_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_COMM_CODEC_STREAM_CODEC_H_
#undef WEFT_COMM_CODEC_STREAM_CODEC_H_
#else
#define WEFT_COMM_CODEC_STREAM_CODEC_H_
#endif

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/value_stream.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

class StreamValueCodec : public ValueCodec {
 public:
  void encode(std::span<const float> values, const MessageId&,
              std::span<float> residual, ByteWriter& out) const final {
    encode_stream(ValueStream(values, residual), out);
  }
  void encode_with_memory(std::span<const float> gradient,
                          std::span<float> memory, float largest,
                          const MessageId&, ByteWriter& out) const final {
    encode_stream(ValueStream(gradient, memory, largest), out);
  }

 private:
  // Appends what `stream` loads and has it keep the residual.
  virtual void encode_stream(const ValueStream& stream,
                             ByteWriter& out) const = 0;
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
