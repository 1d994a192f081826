#include "weft/base/libraries/gzip.h"

#include <gtest/gtest.h>
#include <string>
#include <zlib.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace weft::gzip_test {
namespace {

using test::bytes_of;
using test::expect_error;
using test::TemporaryFolder;

std::vector<std::uint8_t> gzip(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::vector<std::uint8_t> packed(deflateBound(&stream, text.size()));
  stream.next_in = const_cast<Bytef*>(bytes_of(text).data());
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string unpack(ByteSpan packed, std::size_t limit = 1 << 24) {
  const auto bytes = gunzip(packed, "file.gz", limit);
  return {bytes.begin(), bytes.end()};
}

TEST(Gunzip, UnpacksOneMemberAndSeveral) {
  const std::string text(300000, 'a');
  EXPECT_EQ(unpack(gzip(text)), text);
  EXPECT_EQ(unpack(gzip("")), "");
  auto two = gzip("one ");
  const auto second = gzip("two");
  two.insert(two.end(), second.begin(), second.end());
  EXPECT_EQ(unpack(two), "one two");
}

TEST(Gunzip, StopsAtTheLimit) {
  std::string zeros;
  zeros.resize(10000000);
  const auto bomb = gzip(zeros);
  EXPECT_LT(bomb.size(), 20000u);
  expect_error(ErrorCode::kExhausted, {"file.gz", "100000 bytes"},
               [&] { unpack(bomb, 100000); });
  EXPECT_EQ(unpack(bomb, 10000000).size(), 10000000u);
}

TEST(Gunzip, NamesTheOffsetOfATruncation) {
  const auto packed = gzip("a text that is long enough to be cut anywhere");
  for (std::size_t size = 0; size < packed.size(); ++size) {
    expect_error(ErrorCode::kDataLoss, {"file.gz", "byte "},
                 [&] { unpack(ByteSpan(packed).first(size)); });
  }
}

TEST(Gunzip, NeverTakesDamageForText) {
  const std::string text = "a text that is long enough to be damaged anywhere";
  const auto packed = gzip(text);
  // Behind the ten bytes of the header, which say nothing about the text.
  for (std::size_t bit = 80; bit < packed.size() * 8; ++bit) {
    auto damaged = packed;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    // The last byte of the stream has padding bits that mean nothing.
    try {
      EXPECT_EQ(unpack(damaged), text) << bit;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kDataLoss);
    }
  }
}

TEST(Gunzip, RefusesTrailingBytes) {
  auto packed = gzip("text");
  packed.push_back('x');
  EXPECT_THROW(unpack(packed), Error);
}

TEST(UnpackedFile, ReadsPlainAndPackedAlike) {
  const TemporaryFolder folder;
  const UnpackedFile plain(folder.write("plain", "content"), 1000);
  const UnpackedFile packed(folder.write("packed", gzip("content")), 1000);
  EXPECT_TRUE(std::equal(plain.bytes().begin(), plain.bytes().end(),
                         packed.bytes().begin(), packed.bytes().end()));
  EXPECT_EQ(packed.bytes().size(), 7u);
}

}  // namespace
}  // namespace weft::gzip_test
