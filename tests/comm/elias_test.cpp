#include "weft/comm/codec/elias.h"

#include <gtest/gtest.h>
#include <string>

#include "tests/support/errors.h"

#include "weft/comm/codec/code_pack.h"

namespace weft::elias_test {
namespace {

std::string code_of(std::uint32_t k) {
  Bytes bytes;
  ByteWriter out(bytes);
  BitWriter bits(out);
  put_elias(bits, k);
  bits.finish();
  ByteReader in(bytes, "test");
  BitReader reader(in, bytes.size(), "code");
  std::string text;
  for (int i = 0; i < elias_bits(k); ++i) text += reader.get(1) ? '1' : '0';
  return text;
}

TEST(Elias, IsTheOmegaCode) {
  EXPECT_EQ(code_of(1), "0");
  EXPECT_EQ(code_of(2), "100");
  EXPECT_EQ(code_of(3), "110");
  EXPECT_EQ(code_of(4), "101000");
  EXPECT_EQ(code_of(8), "1110000");
  EXPECT_EQ(code_of(16), "10100100000");
  EXPECT_EQ(code_of(100), "1011011001000");
}

TEST(Elias, ReadsBackWhatItWrites) {
  constexpr std::uint32_t kMost = 1 << 20;
  Bytes bytes;
  ByteWriter out(bytes);
  BitWriter bits(out);
  std::size_t length = 0;
  const auto each = [&](auto&& body) {
    for (std::uint32_t k = 1; k <= kMost; ++k) body(k);
    for (int shift = 21; shift < 31; ++shift) {
      body((1u << shift) - 1);
      body(1u << shift);
    }
    body(kMostElias);
  };
  each([&](std::uint32_t k) {
    put_elias(bits, k);
    length += static_cast<std::size_t>(elias_bits(k));
  });
  bits.finish();
  EXPECT_EQ(bytes.size(), (length + 7) / 8);
  ByteReader in(bytes, "test");
  BitReader reader(in, bytes.size(), "numbers");
  each([&](std::uint32_t k) { ASSERT_EQ(get_elias(reader), k); });
  reader.finish();
}

TEST(Elias, RefusesNumbersThatAreTooLarge) {
  const Bytes ones(16, std::byte{0xff});
  ByteReader in(ones, "test");
  BitReader reader(in, ones.size(), "number");
  test::expect_error(ErrorCode::kDataLoss, {"number", "too large"},
                     [&] { get_elias(reader); });
}

TEST(CodePack, IsTheFormatOfBitPack) {
  for (int bits = 1; bits <= 8; ++bits) {
    for (std::size_t count = 0; count <= 40; ++count) {
      std::vector<std::uint8_t> codes(count);
      for (std::size_t i = 0; i < count; ++i) {
        codes[i] = static_cast<std::uint8_t>((i * 157 + 91) % (1u << bits));
      }
      Bytes expected;
      ByteWriter out(expected);
      BitWriter writer(out);
      for (const std::uint8_t code : codes) writer.put(code, bits);
      writer.finish();
      Bytes packed(packed_bytes(count, bits));
      pack_codes(codes, bits, packed.data());
      EXPECT_EQ(packed, expected) << bits << " bits, " << count;
      std::vector<std::uint8_t> unpacked(count, 255);
      unpack_codes(packed.data(), bits, unpacked);
      EXPECT_EQ(unpacked, codes) << bits << " bits, " << count;
    }
  }
}

}  // namespace
}  // namespace weft::elias_test
