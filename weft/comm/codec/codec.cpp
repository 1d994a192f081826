#include "weft/comm/codec/codec.h"

#include "weft/comm/codec/magnitude.h"

namespace weft {

void ValueCodec::encode_with_memory(std::span<const float> gradient,
                                    std::span<float> memory, float /*largest*/,
                                    const MessageId& id,
                                    ByteWriter& out) const {
  accumulate(gradient, memory);
  encode(memory, id, memory, out);
}

}  // namespace weft
