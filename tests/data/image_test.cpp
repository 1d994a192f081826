#include "weft/data/image.h"

#include <gtest/gtest.h>

#include "tests/support/batches.h"
#include "tests/support/errors.h"
#include "tests/support/sample_files.h"
#include "tests/support/temporary_folder.h"

#include "weft/data/fetch.h"

namespace weft::image_test {
namespace {

using test::Bytes;
using test::expect_error;
using test::jpeg_file;
using test::png_file;

const Bytes kColours{255, 0, 0, 0, 255, 0, 0, 0, 255,
                     9,   9, 9, 1, 2,   3, 4, 5, 6};

Bytes flat(std::size_t size, std::uint8_t value) { return Bytes(size, value); }

void expect_damage(const Bytes& file) {
  expect_error(ErrorCode::kDataLoss, {"picture", "byte "},
               [&] { decode_image(file, "picture"); });
}

// Big-endian at `at`.
void put(Bytes& file, std::size_t at, std::uint32_t value) {
  for (std::size_t i = 0; i < 4; ++i) {
    file[at + i] = static_cast<std::uint8_t>(value >> (24 - 8 * i));
  }
}

TEST(DecodeImage, ReadsPngExactly) {
  const Image image = decode_image(png_file(2, 3, 3, kColours), "picture");
  EXPECT_EQ(image.height, 2);
  EXPECT_EQ(image.width, 3);
  EXPECT_EQ(image.channels, 3);
  EXPECT_EQ(image.pixels, kColours);
  EXPECT_EQ(decode_image(png_file(1, 2, 1, {7, 200}), "picture").pixels,
            (Bytes{7, 200}));
}

TEST(DecodeImage, ReadsJpegNearly) {
  const Image image =
      decode_image(jpeg_file(20, 30, 3, flat(1800, 100)), "picture");
  EXPECT_EQ(image.height, 20);
  EXPECT_EQ(image.width, 30);
  ASSERT_EQ(image.pixels.size(), 1800u);
  for (const auto pixel : image.pixels) EXPECT_NEAR(pixel, 100, 2);
}

TEST(DecodeImage, ConvertsChannelsOnRequest) {
  for (const Bytes& grey :
       {png_file(8, 8, 1, flat(64, 50)), jpeg_file(8, 8, 1, flat(64, 50))}) {
    EXPECT_EQ(decode_image(grey, "picture", 0).channels, 1);
    const Image wide = decode_image(grey, "picture", 3);
    EXPECT_EQ(wide.pixels.size(), 192u);
    EXPECT_NEAR(wide.pixels[100], 50, 1);
  }
  for (const Bytes& colour :
       {png_file(8, 8, 3, flat(192, 50)), jpeg_file(8, 8, 3, flat(192, 50))}) {
    EXPECT_EQ(decode_image(colour, "picture", 0).channels, 3);
    const Image narrow = decode_image(colour, "picture", 1);
    EXPECT_EQ(narrow.pixels.size(), 64u);
    EXPECT_NEAR(narrow.pixels[10], 50, 1);
  }
}

TEST(DecodeImage, RefusesForeignFiles) {
  expect_error(ErrorCode::kDataLoss, {"picture", "byte 0"},
               [] { decode_image(test::bytes_of("GIF89a"), "picture"); });
  expect_error(ErrorCode::kDataLoss, {"picture", "byte 0"},
               [] { decode_image({}, "picture"); });
}

TEST(DecodeImage, NamesTheByteOfEveryTruncation) {
  for (const Bytes& file :
       {png_file(2, 3, 3, kColours), jpeg_file(20, 30, 3, flat(1800, 100))}) {
    for (std::size_t size = 0; size + 1 < file.size(); ++size) {
      expect_damage(Bytes(file.begin(), file.begin() + static_cast<int>(size)));
    }
  }
}

TEST(DecodeImage, SeesEveryFlippedBitOfAPng) {
  const Bytes file = png_file(2, 3, 3, kColours);
  for (std::size_t bit = 0; bit < file.size() * 8; ++bit) {
    Bytes damaged = file;
    damaged[bit / 8] ^= static_cast<std::uint8_t>(1u << (bit % 8));
    EXPECT_THROW(decode_image(damaged, "picture"), Error) << bit;
  }
}

TEST(DecodeImage, RefusesPixelsThatTheFileCannotHold) {
  Bytes jpeg = jpeg_file(8, 8, 1, flat(64, 50));
  // The frame header: FF C0, length, precision, height, width.
  for (std::size_t i = 0; i + 8 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) {
      jpeg[i + 5] = jpeg[i + 7] = 0x3f;
    }
  }
  expect_error(ErrorCode::kDataLoss, {"picture", "cannot hold"},
               [&] { decode_image(jpeg, "picture"); });
}

TEST(DecodeImage, RefusesSidesThatAreTooLong) {
  Bytes png = png_file(2, 3, 3, kColours);
  put(png, 16, 1u << 30);  // the width, whose checksum is wrong now too
  expect_error(ErrorCode::kDataLoss, {"picture"},
               [&] { decode_image(png, "picture"); });
  expect_error(ErrorCode::kUnsupported, {"picture", "16385"}, [] {
    detail::check_image_size({16385, 1, 1}, std::size_t{1} << 30, "picture");
  });
}

TEST(ResizeImage, AveragesAreas) {
  const Image image{2, 4, 1, {0, 10, 20, 30, 0, 10, 40, 50}};
  EXPECT_EQ(resize_image(image, 1, 2).pixels, (Bytes{5, 35}));
  EXPECT_EQ(resize_image(image, 2, 4).pixels, image.pixels);
  EXPECT_EQ(resize_image({1, 1, 3, {1, 2, 3}}, 2, 2).pixels,
            (Bytes{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(ImageFolder, ReadsAFolderPerClass) {
  const test::TemporaryFolder folder;
  for (int i = 0; i < 5; ++i) {
    const auto value = static_cast<std::uint8_t>(10 * i);
    folder.write(fmt::format("cat/{}.png", i),
                 png_file(2, 2, 1, flat(4, value)));
    folder.write(fmt::format("dog/{}.PNG", i), png_file(2, 2, 1, flat(4, 99)));
  }
  folder.write("cat/notes.txt", "no picture");
  const auto splits =
      open_data({.name = "image_folder", .folder = folder.path()});
  EXPECT_EQ(splits.train->classes(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(splits.train->size(), 8);
  EXPECT_EQ(splits.test->size(), 2);
  const auto batch = test::read_rows(*splits.train, {0, 7});
  EXPECT_TRUE(
      identical(batch[0], Tensor::of<std::uint8_t>(
                              {2, 2, 2, 1}, {10, 10, 10, 10, 99, 99, 99, 99})));
  EXPECT_TRUE(identical(batch[1], Tensor::of<std::int32_t>({2}, {0, 1})));
}

TEST(ImageFolder, TakesTrainAndTestAndMixesGreyWithColour) {
  const test::TemporaryFolder folder;
  folder.write("train/a/1.png", png_file(2, 2, 1, flat(4, 7)));
  folder.write("train/b/1.jpg", jpeg_file(2, 2, 3, flat(12, 7)));
  folder.write("test/b/1.jpeg", jpeg_file(2, 2, 3, flat(12, 7)));
  const auto splits =
      open_data({.name = "image_folder", .folder = folder.path()});
  EXPECT_EQ(splits.train->features()[0].type.shape, Shape({2, 2, 3}));
  EXPECT_EQ(test::read_rows(*splits.test, {0})[1].item(), 1);
}

TEST(ImageFolder, NamesTheFileOfAnotherSizeOrClass) {
  const test::TemporaryFolder folder;
  folder.write("train/a/1.png", png_file(2, 2, 1, flat(4, 7)));
  folder.write("train/a/2.png", png_file(2, 3, 1, flat(6, 7)));
  expect_error(ErrorCode::kDataLoss, {"2.png", "2 x 3", "2 x 2"}, [&] {
    open_data({.name = "image_folder", .folder = folder.path()});
  });
  std::filesystem::remove(folder / "train/a/2.png");
  folder.write("test/c/1.png", png_file(2, 2, 1, flat(4, 7)));
  expect_error(ErrorCode::kDataLoss, {"'c'"}, [&] {
    open_data({.name = "image_folder", .folder = folder.path()});
  });
}

}  // namespace
}  // namespace weft::image_test
