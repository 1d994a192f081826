// The support as one bit an element, lowest bit first.
#include <algorithm>
#include <bit>

#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

class BitmapIndexCodec final : public IndexCodec {
 public:
  void encode(std::span<const std::uint32_t> selected, std::uint32_t size,
              const MessageId&, std::vector<std::uint32_t>& sent,
              ByteWriter& out) const override {
    const std::size_t bytes = bytes_for(size);
    std::byte* bitmap = out.room(bytes);
    std::fill_n(bitmap, bytes, std::byte{0});
    for (const std::uint32_t index : selected) {
      bitmap[index / 8] |= std::byte{1} << (index % 8);
    }
    sent.assign(selected.begin(), selected.end());
  }

  void decode(ByteReader& in, std::uint32_t size, const MessageId&,
              std::vector<std::uint32_t>& sent) const override {
    const auto bitmap = in.take(bytes_for(size), "bitmap");
    sent.clear();
    // Eight bytes at a time: most words of a sparse support are zero and cost
    // one test.
    for (std::size_t byte = 0; byte < bitmap.size(); byte += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bitmap.data() + byte,
                  std::min<std::size_t>(8, bitmap.size() - byte));
      for (; word != 0; word &= word - 1) {
        sent.push_back(static_cast<std::uint32_t>(
            8 * byte + static_cast<std::size_t>(std::countr_zero(word))));
      }
    }
    // The last byte may have room for more elements than there are.
    if (!sent.empty() && sent.back() >= size) {
      throw in.damaged("bitmap", "has bits after its end");
    }
  }

 private:
  static std::size_t bytes_for(std::uint32_t size) {
    return (std::size_t{size} + 7) / 8;
  }
};

}  // namespace

void register_index_codec_bitmap(IndexCodecRegistry& codecs) {
  codecs.add({.name = "bitmap",
              .summary = "one bit an element",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<IndexCodec> {
                return std::make_unique<BitmapIndexCodec>();
              }});
}

}  // namespace weft
