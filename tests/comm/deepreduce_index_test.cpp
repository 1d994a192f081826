// The lossless index codecs: run lengths, bit map, gaps, Huffman.
#include <gtest/gtest.h>

#include "tests/comm/codec_harness.h"
#include "tests/support/errors.h"

#include "weft/comm/codec/bit_pack.h"
#include "weft/comm/codec/huffman.h"

namespace weft::deepreduce_index_test {
namespace {

using test::decode;
using test::encode;
using test::expect_error;
using test::index_codec;
using test::random_support;
using Indices = std::vector<std::uint32_t>;

struct Named {
  std::string name;
  Options options;
};

const Named kLossless[] = {
    {"bitmap", {}},
    {"rle", {}},
    {"huffman", {}},
    {"delta", {{"packing", std::string("varint")}}},
    {"delta", {{"packing", std::string("bits")}}},
    {"delta", {{"packing", std::string("huffman")}}},
};

Bytes bytes_of(std::initializer_list<int> values) {
  Bytes bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

void refuse(const Named& codec, const Bytes& bytes, std::uint32_t size,
            const char* field) {
  expect_error(ErrorCode::kDataLoss, {field}, [&] {
    decode(*index_codec(codec.name, codec.options), bytes, size);
  });
}

TEST(LosslessIndices, ComeBackForAnySupport) {
  for (const auto& [name, options] : kLossless) {
    const auto codec = index_codec(name, options);
    EXPECT_TRUE(codec->is_lossless());
    for (const std::uint32_t size : {0u, 1u, 8u, 255u, 256u, 257u, 70000u}) {
      for (const std::uint32_t count :
           {0u, std::min(1u, size), size / 100, size / 3, size}) {
        const Indices support =
            size == 0 ? Indices() : random_support(size, count, size ^ count);
        const auto message = encode(*codec, support, size);
        EXPECT_EQ(message.sent, support);
        EXPECT_EQ(decode(*codec, message.bytes, size), support)
            << name << " " << size << " " << count;
      }
    }
  }
}

TEST(LosslessIndices, ReachTheLastIndexOfTheLargestTensor) {
  constexpr std::uint32_t kSize = 0xFFFFFFFFu;
  const Indices support = {0, 1, 2, 0x80000000u, kSize - 2, kSize - 1};
  for (const auto& [name, options] : kLossless) {
    if (name == "bitmap") continue;  // half a gigabyte
    const auto codec = index_codec(name, options);
    EXPECT_EQ(decode(*codec, encode(*codec, support, kSize).bytes, kSize),
              support)
        << name;
  }
}

TEST(LosslessIndices, CutMessagesAreRefused) {
  const Indices support = random_support(3000, 200, 4);
  for (const auto& [name, options] : kLossless) {
    const auto codec = index_codec(name, options);
    Bytes bytes = encode(*codec, support, 3000).bytes;
    while (!bytes.empty()) {
      bytes.pop_back();
      expect_error(ErrorCode::kDataLoss, {"field"},
                   [&] { decode(*codec, bytes, 3000); });
    }
  }
}

TEST(Rle, WritesTheRuns) {
  // [0, 0, 1, 1, 1, 0]: runs 2, 3, 1 in two bits each, lowest first.
  const auto codec = index_codec("rle");
  EXPECT_EQ(encode(*codec, {2, 3, 4}, 6).bytes,
            bytes_of({3, 2, 2 | 3 << 2 | 1 << 4}));
  // A leading one: the first run is empty. [1, 0, 0, 0]: 0, 1, 3.
  EXPECT_EQ(encode(*codec, {0}, 4).bytes,
            bytes_of({3, 2, 0 | 1 << 2 | 3 << 4}));
  // "aaaabaa" with a for ones: an empty run of zeros, then 4, 1, 2.
  EXPECT_EQ(encode(*codec, {0, 1, 2, 3, 5, 6}, 7).bytes,
            bytes_of({4, 3, 0 | 4 << 3 | (1 << 6 & 0xFF), 2 << 1}));
  // Nothing is selected here.
  EXPECT_EQ(encode(*codec, {}, 5).bytes, bytes_of({1, 3, 5}));
}

TEST(Rle, RefusesImpossibleRuns) {
  const Named rle{"rle", {}};
  refuse(rle, bytes_of({1, 33, 0, 0, 0, 0, 0}), 5, "'bits of a run'");
  refuse(rle, bytes_of({7, 1, 0}), 5, "'number of runs'");
  refuse(rle, bytes_of({1, 3, 6}), 5, "'runs' pass the tensor's end");
  refuse(rle, bytes_of({1, 3, 4}), 5, "'runs' end before");
  refuse(rle, bytes_of({3, 3, 2 | 0 << 3 | (3 << 6 & 0xFF), 0}), 5,
         "'runs' hold an empty one");
  refuse(rle, bytes_of({2, 3, 2 | 3 << 3 | 1 << 6}), 5,
         "'runs' has bits after");
  // Runs without bits are not counted up to the number declared.
  refuse(rle, bytes_of({0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 0}), 5,
         "'number of runs'");
}

TEST(Bitmap, HasABitForEachElement) {
  const auto codec = index_codec("bitmap");
  EXPECT_EQ(encode(*codec, {0, 2, 9}, 11).bytes, bytes_of({5, 2}));
  refuse({"bitmap", {}}, bytes_of({5, 8}), 11, "'bitmap'");
}

TEST(Delta, WritesGaps) {
  // Gaps 3, 0, 300 - 5.
  EXPECT_EQ(encode(*index_codec("delta"), {3, 4, 300}, 1000).bytes,
            bytes_of({3, 3, 0, 0xA7, 2}));
  // Nine bits each.
  EXPECT_EQ(encode(*index_codec("delta", {{"packing", std::string("bits")}}),
                   {3, 4, 300}, 1000)
                .bytes,
            bytes_of({3, 9, 3, 0, 295 << 2 & 0xFF, 295 >> 6}));
  expect_error(ErrorCode::kInvalidArgument,
               {"'packing'", "did you mean 'bits'"}, [] {
                 index_codec("delta", {{"packing", std::string("bit")}});
               });
}

TEST(Delta, RefusesImpossibleGaps) {
  const Named varint{"delta", {}};
  refuse(varint, bytes_of({2, 3, 6}), 10, "'gaps' pass the tensor's end");
  refuse(varint, bytes_of({1, 10}), 10, "'gaps' pass the tensor's end");
  refuse(varint, bytes_of({11, 0}), 10, "'count'");
  // A gap that would wrap around.
  refuse(
      varint,
      bytes_of({2, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1}),
      10, "'gaps'");
  const Named bits{"delta", {{"packing", std::string("bits")}}};
  refuse(bits, bytes_of({1, 33, 0, 0, 0, 0, 0}), 10, "'bits of a block'");
  const Named huffman{"delta", {{"packing", std::string("huffman")}}};
  refuse(huffman, bytes_of({2, 11, 0}), 10, "'bytes of the gaps'");
  refuse(huffman, bytes_of({2, 1, 0}), 10, "'bytes of the gaps'");
}

TEST(HuffmanIndices, AreSmallerThanPlainOnes) {
  // An index below 36,864 fits two bytes, so that its upper two are always 0.
  const Indices support = random_support(36864, 3686, 1);
  const auto message = encode(*index_codec("huffman"), support, 36864);
  EXPECT_LT(message.bytes.size(), support.size() * 28 / 10);
}

TEST(HuffmanIndices, RefusesThoseThatDoNotAscend) {
  const Named huffman{"huffman", {}};
  refuse(huffman, bytes_of({101, 1, 0}), 100, "'count'");
  // Index 0 twice, in the code of the bytes of 0 … 99.
  Bytes repeated;
  ByteWriter out(repeated);
  out.write_varint(2);
  std::array<std::uint64_t, HuffmanCode::kSymbols> counts{};
  for (std::size_t i = 0; i < 100; ++i) counts[i] = i == 0 ? 301 : 1;
  const HuffmanCode code(HuffmanCode::best_lengths(counts));
  Bytes codes;
  ByteWriter codes_out(codes);
  BitWriter packed(codes_out);
  for (int i = 0; i < 8; ++i) code.write(0, packed);
  packed.finish();
  out.write_varint(codes.size());
  out.write_all(std::span<const std::byte>(codes));
  refuse(huffman, repeated, 100, "'indices' do not ascend");
}

TEST(Huffman, LengthsAreTheBest) {
  // Weights 1, 1, 2, 4: lengths 3, 3, 2, 1.
  std::array<std::uint64_t, HuffmanCode::kSymbols> counts{};
  counts['a'] = 4;
  counts['b'] = 1;
  counts['c'] = 2;
  counts['d'] = 1;
  const auto lengths = HuffmanCode::best_lengths(counts);
  EXPECT_EQ(lengths['a'], 1);
  EXPECT_EQ(lengths['b'], 3);
  EXPECT_EQ(lengths['c'], 2);
  EXPECT_EQ(lengths['d'], 3);
  EXPECT_TRUE(HuffmanCode::is_valid(lengths));
  auto crowded = lengths;
  crowded['e'] = 1;
  EXPECT_FALSE(HuffmanCode::is_valid(crowded));
  EXPECT_FALSE(HuffmanCode::is_valid({}));
}

TEST(Huffman, NoCodeIsTooLong) {
  // Fibonacci weights make the deepest tree.
  std::array<std::uint64_t, HuffmanCode::kSymbols> counts{};
  std::uint64_t a = 1;
  std::uint64_t b = 1;
  for (std::size_t i = 0; i < 60; ++i) {
    counts[i] = a;
    const std::uint64_t next = a + b;
    a = b;
    b = next;
  }
  const auto lengths = HuffmanCode::best_lengths(counts);
  EXPECT_TRUE(HuffmanCode::is_valid(lengths));
  for (std::size_t i = 0; i < 60; ++i) EXPECT_GT(lengths[i], 0) << i;
}

TEST(Huffman, BytesComeBack) {
  for (const std::size_t size : {0u, 1u, 2u, 1000u}) {
    for (const int symbols : {1, 2, 256}) {
      std::vector<std::uint8_t> bytes;
      for (std::size_t i = 0; i < size; ++i) {
        bytes.push_back(static_cast<std::uint8_t>(
            (i * i * 7) % static_cast<std::size_t>(symbols)));
      }
      Bytes message;
      ByteWriter out(message);
      write_huffman(bytes, out);
      ByteReader in(message, "message");
      std::vector<std::uint8_t> back(size);
      read_huffman(in, "bytes", back);
      in.expect_end();
      EXPECT_EQ(back, bytes);
    }
  }
}

TEST(Huffman, RefusesLengthsOfNoCode) {
  // Highest byte 2, lengths 1, 1, 1.
  const Bytes message = bytes_of({2, 1 | 1 << 5, 1 << 2, 1, 0});
  std::vector<std::uint8_t> bytes(4);
  expect_error(ErrorCode::kDataLoss, {"'bytes'", "lengths of no code"}, [&] {
    ByteReader in(message, "message");
    read_huffman(in, "bytes", bytes);
  });
}

}  // namespace
}  // namespace weft::deepreduce_index_test
