#include "weft/data/libsvm.h"

#include <gtest/gtest.h>
#include <vector>

#include "tests/support/errors.h"

namespace weft::libsvm_test {
namespace {

void expect_refused(std::string_view text,
                    std::initializer_list<std::string> parts) {
  test::expect_error(ErrorCode::kDataLoss, parts,
                     [&] { parse_libsvm(text, "rows.txt"); });
}

TEST(Libsvm, ReadsExamples) {
  const auto rows = parse_libsvm(
      "# a comment\n"
      "+1 1:0.5 7:-2e1\r\n"
      "\n"
      "-1\t3:1  # behind an example\n"
      " 0.25 2:0 4:1",
      "text");
  EXPECT_EQ(rows.targets, (std::vector<float>{1, -1, 0.25F}));
  EXPECT_EQ(rows.begin, (std::vector<std::uint64_t>{0, 2, 3, 4}));
  EXPECT_EQ(rows.columns, (HugeVector<std::uint32_t>{0, 6, 2, 3}));
  EXPECT_EQ(rows.values, (HugeVector<float>{0.5F, -20, 1, 1}));
  EXPECT_EQ(rows.width, 7U);
}

TEST(Libsvm, KeepsAnExampleWithoutEntries) {
  const auto rows = parse_libsvm("1\n-1 1:1\n", "text");
  EXPECT_EQ(rows.begin, (std::vector<std::uint64_t>{0, 0, 1}));
}

TEST(Libsvm, NamesTheLineThatIsNoExample) {
  expect_refused("1 1:1\n\nx 1:1\n", {"rows.txt:3", "x 1:1", "target"});
  expect_refused("1 1:1 2\n", {"rows.txt:1", "index:value"});
  expect_refused("1 1:\n", {"index:value"});
  expect_refused("1 :1\n", {"index:value"});
  expect_refused("1 1:1x\n", {"index:value"});
  expect_refused("1 -1:1\n", {"index:value"});
  expect_refused("1 1.5:1\n", {"index:value"});
  expect_refused("1 99999999999:1\n", {"index:value"});
  expect_refused("1 0:1\n", {"begin at 1"});
  expect_refused("1 2:1 2:1\n", {"ascend"});
  expect_refused("1 3:1 2:1\n", {"ascend"});
  expect_refused("1 2000000000:1\n", {"2^30"});
  expect_refused("1 1:nan\n", {"finite"});
  expect_refused("inf 1:1\n", {"finite target"});
  expect_refused("1 1:1e99\n", {"index:value"});
  expect_refused("1 1:1e400\n", {"index:value"});
  expect_refused("# nothing\n\n", {"no example"});
}

TEST(Libsvm, WhatNoFloatIsNearerThanZeroIsZero) {
  const auto rows =
      parse_libsvm("1e-50 1:-1e-60 2:1e-40 3:+2e-300 4:-1e-400\n", "text");
  EXPECT_EQ(rows.targets, (std::vector<float>{0}));
  EXPECT_EQ(rows.columns, (HugeVector<std::uint32_t>{1}));
  EXPECT_EQ(rows.values, (HugeVector<float>{1e-40F}));
}

TEST(Libsvm, TwoClassesAreSigns) {
  auto rows = parse_libsvm("2 1:1\n1 1:1\n2 1:1\n", "text");
  make_binary(rows, "text");
  EXPECT_EQ(rows.targets, (std::vector<float>{1, -1, 1}));
  for (const char* text : {"1 1:1\n", "1 1:1\n2 1:1\n3 1:1\n"}) {
    auto others = parse_libsvm(text, "text");
    test::expect_error(ErrorCode::kInvalidArgument, {"two classes", "squared"},
                       [&] { make_binary(others, "text"); });
  }
}

}  // namespace
}  // namespace weft::libsvm_test
