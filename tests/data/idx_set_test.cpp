#include "weft/data/idx_set.h"

#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"

namespace weft::idx_set_test {
namespace {

using test::expect_error;
using test::idx_file;
using test::read_rows;
using test::TemporaryFolder;

void write_set(const TemporaryFolder& folder, const std::string& prefix) {
  folder.write(prefix + "-images-idx3-ubyte",
               idx_file({3, 1, 2}, {10, 11, 20, 21, 30, 31}));
  folder.write(prefix + "-labels-idx1-ubyte", idx_file({3}, {2, 0, 1}));
}

TEST(IdxSet, ReadsImagesAndLabelsByIndex) {
  const TemporaryFolder folder;
  write_set(folder, "train");
  const auto data = open_idx_set(folder.path(), "train", {.name = "set"});
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->classes(), (std::vector<std::string>{"0", "1", "2"}));
  const auto batch = read_rows(*data, {2, 0});
  EXPECT_TRUE(identical(
      batch[0], Tensor::of<std::uint8_t>({2, 1, 2, 1}, {30, 31, 10, 11})));
  EXPECT_TRUE(identical(batch[1], Tensor::of<std::int32_t>({2}, {1, 2})));
}

TEST(IdxSet, ScalesPixelsToWhite) {
  const TemporaryFolder folder;
  folder.write("x-images-idx3-ubyte", idx_file({1, 1, 3}, {0, 8, 16}));
  folder.write("x-labels-idx1-ubyte", idx_file({1}, {0}));
  const auto data =
      open_idx_set(folder.path(), "x", {.name = "x", .white = 16});
  const auto pixels = read_rows(*data, {0})[0];
  EXPECT_TRUE(
      identical(pixels, Tensor::of<std::uint8_t>({1, 1, 3, 1}, {0, 128, 255})));
}

TEST(IdxSet, NamesFileAndByteOfAPixelAboveWhite) {
  const TemporaryFolder folder;
  folder.write("x-images-idx3-ubyte", idx_file({1, 1, 3}, {0, 17, 16}));
  folder.write("x-labels-idx1-ubyte", idx_file({1}, {0}));
  expect_error(ErrorCode::kDataLoss, {"x-images-idx3-ubyte", "byte 17"}, [&] {
    open_idx_set(folder.path(), "x", {.name = "x", .white = 16});
  });
}

TEST(IdxSet, RefusesUnequalCounts) {
  const TemporaryFolder folder;
  write_set(folder, "train");
  folder.write("train-labels-idx1-ubyte", idx_file({2}, {2, 0}));
  expect_error(ErrorCode::kDataLoss,
               {"train-labels-idx1-ubyte", "byte 4", "2 labels", "3 images"},
               [&] { open_idx_set(folder.path(), "train", {.name = "set"}); });
}

TEST(IdxSet, RefusesALabelBeyondTheClasses) {
  const TemporaryFolder folder;
  write_set(folder, "train");
  expect_error(ErrorCode::kDataLoss, {"labels", "byte 8", "label 2"}, [&] {
    open_idx_set(folder.path(), "train",
                 {.name = "set", .classes = {"a", "b"}});
  });
}

TEST(IdxSet, RefusesAnotherRankAndType) {
  const TemporaryFolder folder;
  write_set(folder, "train");
  folder.write("train-images-idx3-ubyte", idx_file({3}, {1, 2, 3}));
  expect_error(ErrorCode::kDataLoss, {"images", "byte 3"},
               [&] { open_idx_set(folder.path(), "train", {.name = "set"}); });
  auto wide = idx_file({3, 1, 1}, test::Bytes(12));
  wide[2] = 0x0d;
  folder.write("train-images-idx3-ubyte", wide);
  expect_error(ErrorCode::kDataLoss, {"images", "byte 2", "f32"},
               [&] { open_idx_set(folder.path(), "train", {.name = "set"}); });
}

TEST(IdxSet, NamesTheFileThatIsMissing) {
  const TemporaryFolder folder;
  write_set(folder, "train");
  std::filesystem::remove(folder / "train-labels-idx1-ubyte");
  expect_error(ErrorCode::kUnavailable, {"train-labels-idx1-ubyte"},
               [&] { open_idx_set(folder.path(), "train", {.name = "set"}); });
}

TEST(IdxReader, OpensTrainingAndTestPart) {
  const TemporaryFolder folder;
  write_set(folder, "train");
  write_set(folder, "t10k");
  const auto splits = open_data({.name = "idx", .folder = folder.path()});
  EXPECT_EQ(splits.train->size(), 3);
  EXPECT_EQ(splits.test->size(), 3);
  EXPECT_EQ(splits.valid, nullptr);
}

TEST(DigitsReader, HoldsOutEveryFifthOfTheShippedDigits) {
  const auto splits = open_data(
      {.name = "digits",
       .folder = std::filesystem::path(WEFT_SOURCE_DIR) / "data/digits"});
  EXPECT_EQ(splits.train->size(), 1437);
  EXPECT_EQ(splits.test->size(), 360);
  EXPECT_EQ(splits.train->classes().size(), 10u);
  // The set begins 0 1 2 3 4 5 …: rows 0 and 5 are held out.
  const auto train = read_rows(*splits.train, {0, 1, 2, 3, 4});
  EXPECT_TRUE(
      identical(train[1], Tensor::of<std::int32_t>({5}, {1, 2, 3, 4, 6})));
  const auto test = read_rows(*splits.test, {0, 1});
  EXPECT_TRUE(identical(test[1], Tensor::of<std::int32_t>({2}, {0, 5})));
  EXPECT_EQ(test[0].shape(), Shape({2, 8, 8, 1}));
  // The first image, a zero, begins 0 0 5 13 of 16.
  EXPECT_EQ(test[0].item(2), (5 * 255 + 8) / 16);
  EXPECT_EQ(test[0].item(3), (13 * 255 + 8) / 16);
}

}  // namespace
}  // namespace weft::idx_set_test
