// The gaps between indices: the first index, then each difference less one.
//
// Layout: varint count, then by `packing`
//   varint   each gap as a varint
//   bits     for each 128 gaps: u8 bits of the largest, the gaps packed in so
//            many bits
//   huffman  varint bytes of the varints, these Huffman coded (with the value
//            codec `sketch` this is SKCompress: Jiang, Fu, Yang, Cui,
//            "SKCompress: compressing sparse and nonuniform gradient in
//            distributed machine learning", VLDB Journal 2020)
#include <algorithm>

#include "weft/comm/codec/codec.h"
#include "weft/comm/codec/huffman.h"

namespace weft {
namespace {

constexpr std::size_t kBlock = 128;
constexpr std::size_t kMostVarintBytes = 5;  // of 32 bits

enum class Packing { kVarint, kBits, kHuffman };

std::vector<std::uint32_t> gaps_of(std::span<const std::uint32_t> indices) {
  std::vector<std::uint32_t> gaps;
  gaps.reserve(indices.size());
  std::uint32_t next = 0;  // the lowest index that may follow
  for (const std::uint32_t index : indices) {
    // Indices ascend, so that none is below `next`.
    gaps.push_back(index - next);
    next = index + 1;
  }
  return gaps;
}

// Puts indices together from gaps that came over a network.
class IndexSum {
 public:
  IndexSum(const ByteReader& in, std::uint32_t size,
           std::vector<std::uint32_t>& indices)
      : in_(in), size_(size), indices_(indices) {}

  void add(std::uint64_t gap) {
    // The difference cannot wrap around: next_ is never above size_.
    if (gap >= size_ - next_) {
      throw in_.damaged("gaps", "pass the tensor's end");
    }
    indices_.push_back(static_cast<std::uint32_t>(next_ + gap));
    next_ += gap + 1;
  }

 private:
  const ByteReader& in_;
  std::uint64_t size_;
  std::uint64_t next_ = 0;
  std::vector<std::uint32_t>& indices_;
};

void write_varints(std::span<const std::uint32_t> gaps, ByteWriter& out) {
  for (const std::uint32_t gap : gaps) out.write_varint(gap);
}

void read_varints(ByteReader& in, std::uint64_t count, IndexSum& sum) {
  for (std::uint64_t i = 0; i < count; ++i) sum.add(in.read_varint("gaps"));
}

void write_blocks(std::span<const std::uint32_t> gaps, ByteWriter& out) {
  for (; !gaps.empty(); gaps = gaps.subspan(std::min(kBlock, gaps.size()))) {
    const auto block = gaps.first(std::min(kBlock, gaps.size()));
    // One wide gap costs the bits of its own block alone.
    const int bits = bits_for(*std::max_element(block.begin(), block.end()));
    out.write(static_cast<std::uint8_t>(bits));
    BitWriter packed(out);
    for (const std::uint32_t gap : block) packed.put(gap, bits);
    packed.finish();
  }
}

void read_blocks(ByteReader& in, std::uint64_t count, IndexSum& sum) {
  for (std::uint64_t done = 0; done < count; done += kBlock) {
    const std::uint64_t block = std::min<std::uint64_t>(kBlock, count - done);
    const int bits = in.read<std::uint8_t>("bits of a block");
    if (bits > 32) throw in.damaged("bits of a block", "is more than 32");
    BitReader packed(in, static_cast<std::size_t>(packed_bytes(block, bits)),
                     "gaps");
    for (std::uint64_t i = 0; i < block; ++i) sum.add(packed.get(bits));
    packed.finish();
  }
}

void write_coded(std::span<const std::uint32_t> gaps, ByteWriter& out) {
  Bytes varints;
  ByteWriter writer(varints);
  write_varints(gaps, writer);
  out.write_varint(varints.size());
  write_huffman(
      {reinterpret_cast<const std::uint8_t*>(varints.data()), varints.size()},
      out);
}

void read_coded(ByteReader& in, std::uint64_t count, IndexSum& sum) {
  const std::uint64_t bytes = in.read_varint("bytes of the gaps");
  // This comes before memory is taken: the count was checked, and each varint
  // has one byte to five.
  if (bytes < count || bytes > count * kMostVarintBytes) {
    throw in.damaged("bytes of the gaps", "does not go with the count");
  }
  std::vector<std::uint8_t> varints(static_cast<std::size_t>(bytes));
  read_huffman(in, "gaps", varints);
  ByteReader reader(std::as_bytes(std::span(varints)), "delta");
  read_varints(reader, count, sum);
  reader.expect_end();
}

class DeltaIndexCodec final : public IndexCodec {
 public:
  explicit DeltaIndexCodec(Packing packing) : packing_(packing) {}

  void encode(std::span<const std::uint32_t> selected, std::uint32_t,
              const MessageId&, std::vector<std::uint32_t>& sent,
              ByteWriter& out) const override {
    const auto gaps = gaps_of(selected);
    out.write_varint(gaps.size());
    switch (packing_) {
      case Packing::kVarint:
        write_varints(gaps, out);
        break;
      case Packing::kBits:
        write_blocks(gaps, out);
        break;
      case Packing::kHuffman:
        write_coded(gaps, out);
        break;
    }
    sent.assign(selected.begin(), selected.end());
  }

  void decode(ByteReader& in, std::uint32_t size, const MessageId&,
              std::vector<std::uint32_t>& sent) const override {
    sent.clear();
    const std::uint64_t count = in.read_varint("count");
    if (count > size) throw in.damaged("count", "is more than the tensor");
    IndexSum sum(in, size, sent);
    switch (packing_) {
      case Packing::kVarint:
        return read_varints(in, count, sum);
      case Packing::kBits:
        return read_blocks(in, count, sum);
      case Packing::kHuffman:
        return read_coded(in, count, sum);
    }
  }

 private:
  Packing packing_;
};

std::unique_ptr<IndexCodec> make_delta(const Options& options) {
  const auto& packing = option<std::string>(options, "packing");
  return std::make_unique<DeltaIndexCodec>(
      packing == "varint" ? Packing::kVarint
      : packing == "bits" ? Packing::kBits
                          : Packing::kHuffman);
}

}  // namespace

void register_index_codec_delta(IndexCodecRegistry& codecs) {
  codecs.add(
      {.name = "delta",
       .summary = "gaps between the indices",
       .options = {{"packing",
                    std::string("varint"),
                    "how gaps are written: bytes as needed, as many bits "
                    "each in blocks of 128, or a Huffman code of bytes",
                    {},
                    {"varint", "bits", "huffman"}}},
       .make = make_delta});
}

}  // namespace weft
