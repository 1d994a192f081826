#include "weft/data/idx.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/sample_files.h"

namespace weft::idx_test {
namespace {

using test::Bytes;
using test::expect_error;
using test::idx_file;

void expect_damage(const Bytes& file, const std::string& part) {
  expect_error(ErrorCode::kDataLoss, {"images", part},
               [&] { parse_idx(file, "images"); });
}

TEST(ParseIdx, ReadsShapeAndData) {
  const Bytes file = idx_file({2, 3}, {1, 2, 3, 4, 5, 6});
  const IdxArray array = parse_idx(file, "images");
  EXPECT_EQ(array.dtype, DType::kU8);
  EXPECT_EQ(array.shape, Shape({2, 3}));
  EXPECT_EQ(array.data.size(), 6u);
  EXPECT_EQ(array.data[5], 6);
}

TEST(ParseIdx, KnowsEveryElementType) {
  for (const auto& [code, dtype] : {std::pair{0x09, DType::kI8},
                                    {0x0b, DType::kI16},
                                    {0x0c, DType::kI32},
                                    {0x0d, DType::kF32},
                                    {0x0e, DType::kF64}}) {
    Bytes file = idx_file({1}, Bytes(size_of(dtype)));
    file[2] = static_cast<std::uint8_t>(code);
    EXPECT_EQ(parse_idx(file, "images").dtype, dtype);
  }
}

TEST(ParseIdx, NamesTheByteOfEveryTruncation) {
  const Bytes file = idx_file({2, 3}, {1, 2, 3, 4, 5, 6});
  for (std::size_t size = 0; size < file.size(); ++size) {
    expect_damage(Bytes(file.begin(), file.begin() + static_cast<int>(size)),
                  "byte ");
  }
}

TEST(ParseIdx, RefusesForeignMagicTypesAndRanks) {
  Bytes file = idx_file({1}, {7});
  file[0] = 0x1f;
  expect_damage(file, "byte 0");
  file = idx_file({1}, {7});
  file[2] = 0x0a;
  expect_damage(file, "byte 2");
  file[2] = 0x08;
  file[3] = 0;
  expect_damage(file, "byte 3");
  file[3] = 200;
  expect_damage(file, "byte 3");
}

TEST(ParseIdx, RefusesDimsThatOverflow) {
  constexpr std::uint32_t kHuge = 0xffffffff;
  expect_damage(idx_file({kHuge, kHuge, kHuge, kHuge}, {1, 2}), "byte 4");
  expect_damage(idx_file({2, kHuge}, {1, 2}), "byte 8");
  // 2^32 × 2^32 is 0 in 64 bits.
  expect_damage(idx_file({1u << 31, 1u << 31, 4}, {}), "byte 4");
}

TEST(ParseIdx, RefusesBytesBehindTheData) {
  expect_damage(idx_file({1}, {7, 8}), "byte 9");
  expect_damage(idx_file({0}, {7}), "byte 8");
}

}  // namespace
}  // namespace weft::idx_test
