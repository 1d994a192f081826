#include "weft/onnx/wire.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/base/utf8.h"

namespace weft::onnx::wire_test {
namespace {

using test::expect_error;

ByteSpan bytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// The example of the encoding's specification: field 1 holds 150.
TEST(Wire, WritesTheSpecificationsExample) {
  WireWriter writer;
  writer.integer(1, 150);
  EXPECT_EQ(writer.written(), "\x08\x96\x01");
  WireWriter text;
  text.bytes(2, "testing");
  EXPECT_EQ(text.written(), "\x12\x07testing");
}

TEST(Wire, ReadsWhatItWrote) {
  WireWriter inner;
  inner.integer(3, -1);
  inner.real(4, 0.5f);
  WireWriter writer;
  writer.packed(1, {0, 127, 128, -5});
  writer.message(7, inner);
  WireReader reader(bytes(writer.written()), "test");
  ASSERT_TRUE(reader.next());
  std::vector<std::int64_t> numbers;
  reader.append_to(numbers);
  EXPECT_EQ(numbers, (std::vector<std::int64_t>{0, 127, 128, -5}));
  ASSERT_TRUE(reader.next());
  EXPECT_EQ(reader.number(), 7);
  WireReader message = reader.message();
  ASSERT_TRUE(message.next());
  EXPECT_EQ(message.integer(), -1);
  ASSERT_TRUE(message.next());
  EXPECT_EQ(message.real(), 0.5f);
  EXPECT_FALSE(message.next());
  EXPECT_FALSE(reader.next());
}

TEST(Wire, RefusesWhatIsCutShort) {
  const auto read = [](const std::string& text) {
    WireReader reader(bytes(text), "test.onnx");
    while (reader.next()) {
    }
  };
  // A number without an end, a field of no kind, one of more bytes than there
  // are, one of a length that wraps around, number 0.
  const std::string cases[] = {"\x08\x96", "\x0b", "\x12\x07test",
                               "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                               std::string("\x00\x01", 2)};
  for (const std::string& text : cases) {
    expect_error(ErrorCode::kDataLoss, {"test.onnx", "at byte 0"},
                 [&] { read(text); });
  }
  expect_error(ErrorCode::kDataLoss, {"another kind"}, [] {
    const std::string number = "\x08\x01";
    WireReader reader(bytes(number), "test");
    reader.next();
    reader.text();
  });
}

// Longer than needed, a half of a pair, a byte that begins nothing, and one
// that is cut short.
TEST(Wire, TextsAreUtf8) {
  EXPECT_TRUE(is_utf8("a é € 𝄞 \x7f"));
  for (const char* text : {"\xc0\x80", "\xed\xa0\x80", "\xff", "\x80",
                           "\xe2\x82", "\xf4\x90\x80\x80"}) {
    EXPECT_FALSE(is_utf8(text));
    WireWriter writer;
    writer.bytes(1, text);
    WireReader reader(bytes(writer.written()), "test");
    reader.next();
    expect_error(ErrorCode::kDataLoss, {"no UTF-8"}, [&] { reader.text(); });
  }
}

TEST(Wire, RefusesMessagesThatNestTooDeep) {
  WireWriter writer;
  for (int i = 0; i < 100; ++i) {
    WireWriter outer;
    outer.message(1, writer);
    writer = outer;
  }
  const std::string text = writer.written();
  expect_error(ErrorCode::kDataLoss, {"nest too deep"}, [&] {
    WireReader reader(bytes(text), "test");
    while (reader.next()) reader = reader.message();
  });
}

}  // namespace
}  // namespace weft::onnx::wire_test
