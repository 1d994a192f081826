// A value codec that reads its values once, front to back: the same pass
// encodes them with a memory and without.
#pragma once

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/value_stream.h"

namespace weft {

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

}  // namespace weft
