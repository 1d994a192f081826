#include "weft/data/tar.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

#include "weft/base/process.h"

namespace weft::tar_test {
namespace {

using test::expect_error;
using test::TemporaryFolder;

ByteSpan bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// What GNU tar makes of the folder `what`.
std::string archive(const TemporaryFolder& folder, const std::string& format,
                    const std::string& what = "inner") {
  const auto path = folder / (format + ".tar");
  EXPECT_EQ(run_process({"tar", "--format=" + format, "--sort=name", "-cf",
                         path.string(), "-C", folder.path().string(), what})
                .exit_code,
            0);
  return read_text(path);
}

// One member with a header of our own, whose checksum is right.
std::string member(std::string name, std::string size, char type,
                   std::string_view content) {
  std::string block(512, '\0');
  name.copy(block.data(), 100);
  size.copy(block.data() + 124, 12);
  block[156] = type;
  block.replace(148, 8, "        ");
  unsigned sum = 0;
  for (const char c : block) sum += static_cast<unsigned char>(c);
  block.replace(148, 7, fmt::format("{:06o}", sum) + '\0');
  block += content;
  block.resize((block.size() + 511) / 512 * 512, '\0');
  return block;
}

TEST(Tar, ReadsWhatOthersWrite) {
  const TemporaryFolder folder;
  folder.write("inner/a.txt", "one");
  folder.write("inner/b.txt", "");
  folder.write("inner/deep/c.txt", std::string(1025, 'x'));
  // A name that fits into ustar's prefix, and one that fits nowhere.
  const std::string longer(90, 'd');
  const std::string prefixed = fmt::format("inner/{0}/{0}.txt", longer);
  folder.write(prefixed, "prefix");
  for (const std::string format : {"ustar", "pax", "gnu", "oldgnu"}) {
    const std::string text = archive(folder, format);
    const auto members = read_tar(bytes_of(text), "t.tar");
    ASSERT_EQ(members.size(), 4u) << format;
    EXPECT_EQ(members[0].name, "inner/a.txt");
    EXPECT_EQ(members[0].bytes.size(), 3u);
    EXPECT_EQ(members[1].bytes.size(), 0u);
    EXPECT_EQ(members[2].name, prefixed) << format;
    EXPECT_EQ(members[3].bytes.size(), 1025u);
    EXPECT_EQ(members[3].bytes[1024], 'x');
  }
}

TEST(Tar, ReadsNamesOfPaxAndOfGnu) {
  const TemporaryFolder folder;
  const std::string name(200, 'n');
  folder.write("inner/" + name + ".txt", "long");
  for (const std::string format : {"pax", "gnu"}) {
    const std::string text = archive(folder, format);
    const auto members = read_tar(bytes_of(text), "t.tar");
    ASSERT_EQ(members.size(), 1u);
    EXPECT_EQ(members[0].name, "inner/" + name + ".txt");
  }
}

TEST(Tar, ReadsSizesOfPaxAndInBytes) {
  // The header of a member says 0, and the pax record before it 3.
  std::string text =
      member("x", "00000000011", 'x', "9 size=3\n") +
      member("a.txt", "00000000000", '0', "abc") +
      member("b.txt", std::string("\x80\0\0\0\0\0\0\0\0\0\0\2", 12), '\0',
             "de");
  const auto members = read_tar(bytes_of(text), "t.tar");
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].bytes.size(), 3u);
  EXPECT_EQ(members[1].bytes.size(), 2u);
}

TEST(Tar, DamageIsNamedByByte) {
  const std::string good = member("a.txt", "00000000003", '0', "abc");
  const auto expect = [](const std::string& text, const std::string& said) {
    expect_error(ErrorCode::kDataLoss, {"t.tar", "byte 1024", said},
                 [&] { read_tar(bytes_of(text), "t.tar"); });
  };
  std::string flipped = good;
  flipped[3] ^= 1;
  expect(good + flipped, "checksum is wrong");
  expect(good + "abc", "fewer than 512 bytes");
  expect(good + member("b", "00000001001", '0', "abc"),
         "end behind the archive");
  expect(good + member("b", "0000000000x", '0', "abc"), "other signs");
  expect(good + member("b", std::string(12, '\xff'), '0', "abc"), "too large");
  expect(good + member("x", "00000000003", 'x', "9 a=3\n"), "another length");
  expect(good + member("x", "00000000011", 'x', "9 size 3\n"), "without '='");
  EXPECT_EQ(read_tar(bytes_of(good), "t.tar").size(), 1u);
}

// Two archives one behind the other, or one with a block of zeros in it.
TEST(Tar, RefusesWhatStandsBehindTheEnd) {
  const std::string good = member("a.txt", "00000000003", '0', "abc");
  const std::string zeros(1024, '\0');
  const std::string ended = good + zeros;
  EXPECT_EQ(read_tar(bytes_of(ended), "t.tar").size(), 1u);
  const std::string twice = ended + ended;
  expect_error(ErrorCode::kDataLoss, {"t.tar", "byte 2048", "behind"},
               [&] { read_tar(bytes_of(twice), "t.tar"); });
  const std::string cut = good + zeros + "x";
  expect_error(ErrorCode::kDataLoss, {"byte 2048"},
               [&] { read_tar(bytes_of(cut), "t.tar"); });
}

TEST(Tar, RefusesWhatIsNoFile) {
  const auto expect = [](const std::string& text, const std::string& said) {
    expect_error(ErrorCode::kUnsupported, {"t.tar", said},
                 [&] { read_tar(bytes_of(text), "t.tar"); });
  };
  expect(member("b", "0", '2', ""), "a link, 'b'");
  expect(member("b", "0", 'S', ""), "sparse");
  expect(member("b", "0", '3', ""), "'b', of another type");
  expect(member("x", "00000000026", 'x', "22 GNU.sparse.major=1\n"), "sparse");
  expect("\x1f\x8b\x08", "gunzip");
  EXPECT_TRUE(read_tar({}, "t.tar").empty());
}

}  // namespace
}  // namespace weft::tar_test
