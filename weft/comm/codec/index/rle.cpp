// The support as the lengths of the runs of its bit map: zeros and ones in
// turn, zeros first, of which there may be none.
//
// Layout: varint number of runs, u8 bits of the longest, the runs packed in so
// many bits.
#include <algorithm>

#include "weft/comm/codec/bit_pack.h"
#include "weft/comm/codec/codec.h"

namespace weft {
namespace {

std::vector<std::uint32_t> runs_of(std::span<const std::uint32_t> selected,
                                   std::uint32_t size) {
  std::vector<std::uint32_t> runs;
  std::uint32_t end = 0;  // of the last run
  for (std::size_t i = 0; i < selected.size();) {
    const std::uint32_t first = selected[i];
    std::uint32_t ones = 1;
    while (i + ones < selected.size() && selected[i + ones] == first + ones) {
      ++ones;
    }
    runs.push_back(first - end);
    runs.push_back(ones);
    end = first + ones;
    i += ones;
  }
  if (end < size) runs.push_back(size - end);
  return runs;
}

class RleIndexCodec final : public IndexCodec {
 public:
  void encode(std::span<const std::uint32_t> selected, std::uint32_t size,
              const MessageId&, std::vector<std::uint32_t>& sent,
              ByteWriter& out) const override {
    const auto runs = runs_of(selected, size);
    const auto longest = std::max_element(runs.begin(), runs.end());
    const int bits = runs.empty() ? 0 : bits_for(*longest);
    out.write_varint(runs.size());
    out.write(static_cast<std::uint8_t>(bits));
    BitWriter packed(out);
    for (const std::uint32_t run : runs) packed.put(run, bits);
    packed.finish();
    // No entry is lost or added, so that all that was selected is sent.
    sent.assign(selected.begin(), selected.end());
  }

  void decode(ByteReader& in, std::uint32_t size, const MessageId&,
              std::vector<std::uint32_t>& sent) const override {
    sent.clear();
    const std::uint64_t count = in.read_varint("number of runs");
    const int bits = in.read<std::uint8_t>("bits of a run");
    // The first run may be empty and no other, so there is one more than
    // elements at most.
    if (count > std::uint64_t{size} + 1) {
      throw in.damaged("number of runs", "is more than the tensor");
    }
    if (bits > 32) throw in.damaged("bits of a run", "is more than 32");
    BitReader packed(in, packed_bytes(count, bits), "runs");
    std::uint32_t end = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::uint32_t run = packed.get(bits);
      if (run > size - end) throw in.damaged("runs", "pass the tensor's end");
      if (run == 0 && i > 0) throw in.damaged("runs", "hold an empty one");
      const bool is_ones = i % 2 == 1;
      for (std::uint32_t k = 0; is_ones && k < run; ++k) {
        sent.push_back(end + k);
      }
      end += run;
    }
    packed.finish();
    if (end != size) throw in.damaged("runs", "end before the tensor does");
  }
};

}  // namespace

void register_index_codec_rle(IndexCodecRegistry& codecs) {
  codecs.add({.name = "rle",
              .summary = "run lengths of the bit map",
              .options = {},
              .make = [](const Options&) -> std::unique_ptr<IndexCodec> {
                return std::make_unique<RleIndexCodec>();
              }});
}

}  // namespace weft
