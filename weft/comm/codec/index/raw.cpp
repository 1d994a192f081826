// Each index as it is.
//
// Layout: u32 count, count ascending u32.
#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

class RawIndexCodec final : public IndexCodec {
 public:
  void encode(std::span<const std::uint32_t> selected, std::uint32_t,
              const MessageId&, std::vector<std::uint32_t>& sent,
              ByteWriter& out) const override {
    out.write(static_cast<std::uint32_t>(selected.size()));
    out.write_all(selected);
    sent.assign(selected.begin(), selected.end());
  }

  void decode(ByteReader& in, std::uint32_t size, const MessageId&,
              std::vector<std::uint32_t>& sent) const override {
    const auto count = in.read<std::uint32_t>("count");
    if (count > size) throw in.damaged("count", "exceeds the tensor's size");
    // The bytes must be there before memory is taken for the indices.
    const auto bytes =
        in.take(std::size_t{count} * sizeof(std::uint32_t), "indices");
    sent.resize(count);
    if (count == 0) return;
    std::memcpy(sent.data(), bytes.data(), bytes.size());
    for (std::size_t i = 1; i < sent.size(); ++i) {
      if (sent[i] <= sent[i - 1]) {
        throw in.damaged("indices", "does not ascend");
      }
    }
    if (sent.back() >= size) {
      throw in.damaged("indices", "leaves the tensor");
    }
  }
};

}  // namespace

void register_index_codec_raw(IndexCodecRegistry& codecs) {
  codecs.add({.name = "raw",
              .summary = "32 bits an index",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<IndexCodec> {
                return std::make_unique<RawIndexCodec>();
              }});
}

}  // namespace weft
