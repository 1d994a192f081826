#include "weft/data/cifar10.h"

#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"

namespace weft::cifar10_test {
namespace {

using test::Bytes;
using test::cifar_file;
using test::expect_error;
using test::TemporaryFolder;

TEST(CheckCifar, CountsAnyWholeNumberOfRecords) {
  EXPECT_EQ(check_cifar(cifar_file({3}), "batch"), 1);
  EXPECT_EQ(check_cifar(cifar_file({0, 9, 5}), "batch"), 3);
}

TEST(CheckCifar, NamesTheByteOfATruncation) {
  const Bytes file = cifar_file({1, 2});
  for (const std::size_t size : {0u, 1u, 3072u, 3074u, 6145u}) {
    const Bytes cut(file.begin(), file.begin() + static_cast<int>(size));
    const std::size_t whole = size / kCifarRecord * kCifarRecord;
    expect_error(ErrorCode::kDataLoss,
                 {"batch", "byte " + std::to_string(whole)},
                 [&] { check_cifar(cut, "batch"); });
  }
}

TEST(CheckCifar, NamesTheByteOfAWrongLabel) {
  expect_error(ErrorCode::kDataLoss, {"batch", "byte 3073", "label 10"}, [] {
    check_cifar(cifar_file({1, 10}), "batch");
  });
}

TEST(Cifar10Reader, PutsChannelsLastAndReadsAcrossFiles) {
  const TemporaryFolder folder;
  folder.write("data_batch_1.bin", cifar_file({4, 5}));
  folder.write("data_batch_2.bin", cifar_file({6}));
  folder.write("test_batch.bin", cifar_file({7}));
  const auto splits = open_data({.name = "cifar10", .folder = folder.path()});
  EXPECT_EQ(splits.train->size(), 3);
  EXPECT_EQ(splits.test->size(), 1);
  EXPECT_EQ(splits.train->classes()[6], "frog");

  const auto batch = test::read_rows(*splits.train, {2, 0, 1});
  EXPECT_TRUE(identical(batch[1], Tensor::of<std::int32_t>({3}, {6, 4, 5})));
  EXPECT_EQ(batch[0].shape(), Shape({3, 32, 32, 3}));
  const auto* pixels = batch[0].data<std::uint8_t>();
  // Record 1 of the first file: pixel p, channel c is 1 + 3 p + c.
  const std::uint8_t* image = pixels + std::ptrdiff_t{2} * 3072;
  for (int i = 0; i < 3072; ++i) {
    ASSERT_EQ(image[i], static_cast<std::uint8_t>(1 + i)) << i;
  }
}

TEST(Cifar10Reader, NamesTheDamagedFile) {
  const TemporaryFolder folder;
  folder.write("data_batch_1.bin", cifar_file({4}));
  auto damaged = cifar_file({4});
  damaged.pop_back();
  folder.write("test_batch.bin", damaged);
  expect_error(ErrorCode::kDataLoss, {"test_batch.bin", "byte 0"}, [&] {
    open_data({.name = "cifar10", .folder = folder.path()});
  });
}

}  // namespace
}  // namespace weft::cifar10_test
