// The bytes of the indices as 32-bit integers, Huffman coded. The code is that
// of all indices of the tensor, which both ends know, so it is not sent.
//
// Layout: varint count, varint bytes of the codes, the codes.
#include "weft/comm/codec/huffman.h"

#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

constexpr int kIndexBytes = 4;

std::uint8_t byte_of(std::uint32_t index, int number) {
  return static_cast<std::uint8_t>(index >> (8 * number));
}

// How often each byte occurs in the indices 0 … size-1. Byte `number` of the
// index runs through 0 … 255 once in every 256 * 2^(8 number) indices.
HuffmanCode code_of_all(std::uint32_t size) {
  std::array<std::uint64_t, HuffmanCode::kSymbols> counts{};
  for (int number = 0; number < kIndexBytes; ++number) {
    const std::uint64_t stay = std::uint64_t{1} << (8 * number);
    const std::uint64_t rounds = size / (256 * stay);
    std::uint64_t rest = size % (256 * stay);
    for (std::uint64_t& count : counts) {
      const std::uint64_t part = std::min(rest, stay);
      count += rounds * stay + part;
      rest -= part;
    }
  }
  return HuffmanCode(HuffmanCode::best_lengths(counts));
}

class HuffmanIndexCodec final : public IndexCodec {
 public:
  void encode(std::span<const std::uint32_t> selected, std::uint32_t size,
              const MessageId&, std::vector<std::uint32_t>& sent,
              ByteWriter& out) const override {
    out.write_varint(selected.size());
    sent.assign(selected.begin(), selected.end());
    if (selected.empty()) return;
    // It depends on the size alone, so the receiver makes the same.
    const HuffmanCode code = code_of_all(size);
    std::uint64_t bits = 0;
    for_each_byte(selected, [&](std::uint8_t byte) {
      bits += static_cast<std::uint64_t>(code.length(byte));
    });
    out.write_varint((bits + 7) / 8);
    BitWriter packed(out);
    for_each_byte(selected,
                  [&](std::uint8_t byte) { code.write(byte, packed); });
    packed.finish();
  }

  void decode(ByteReader& in, std::uint32_t size, const MessageId&,
              std::vector<std::uint32_t>& sent) const override {
    sent.clear();
    const std::uint64_t count = in.read_varint("count");
    if (count > size) throw in.damaged("count", "is more than the tensor");
    if (count == 0) return;
    const HuffmanCode code = code_of_all(size);
    BitReader packed(in, in.read_varint("bytes of the codes"), "indices");
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint32_t index = 0;
      for (int number = 0; number < kIndexBytes; ++number) {
        index |= std::uint32_t{code.read(packed)} << (8 * number);
      }
      // The code can spell any four bytes, so what they spell is checked.
      if (index >= size) throw packed.damaged("pass the tensor's end");
      if (i > 0 && index <= sent.back()) {
        throw packed.damaged("do not ascend");
      }
      sent.push_back(index);
    }
    packed.finish();
  }

 private:
  template <class Visit>
  static void for_each_byte(std::span<const std::uint32_t> indices,
                            Visit&& visit) {
    for (const std::uint32_t index : indices) {
      for (int number = 0; number < kIndexBytes; ++number) {
        visit(byte_of(index, number));
      }
    }
  }
};

}  // namespace

void register_index_codec_huffman(IndexCodecRegistry& codecs) {
  codecs.add({.name = "huffman",
              .summary = "bytes of the indices, in a code that both ends know",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<IndexCodec> {
                return std::make_unique<HuffmanIndexCodec>();
              }});
}

}  // namespace weft
