#include "weft/data/image.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "weft/base/libraries/gzip.h"

namespace weft {
namespace {

constexpr std::array<std::uint8_t, 8> kPng{0x89, 'P',  'N',  'G',
                                           0x0d, 0x0a, 0x1a, 0x0a};
constexpr std::array<std::uint8_t, 3> kJpeg{0xff, 0xd8, 0xff};

// A file is told by its first bytes: names are often wrong.
bool begins_with(ByteSpan file, ByteSpan magic) {
  return file.size() >= magic.size() &&
         std::equal(magic.begin(), magic.end(), file.begin());
}

ImageHeader decode(ByteSpan file, std::string_view where, int channels,
                   Image* image) {
  if (begins_with(file, kPng)) {
    return detail::decode_png(file, where, channels, image);
  }
  if (begins_with(file, kJpeg)) {
    return detail::decode_jpeg(file, where, channels, image);
  }
  throw Error(ErrorCode::kDataLoss, where,
              "byte 0: neither a PNG nor a JPEG file");
}

// The overlap of pixel `index` of a row with [begin, end), both in pixels.
double overlap(double index, double begin, double end) {
  return std::max(0.0, std::min(index + 1, end) - std::max(index, begin));
}

}  // namespace

Image decode_image(ByteSpan file, std::string_view where, int channels) {
  WEFT_CHECK(channels == 0 || channels == 1 || channels == 3);
  Image image;
  decode(file, where, channels, &image);
  return image;
}

ImageHeader read_image_header(ByteSpan file, std::string_view where) {
  // Without a place for pixels, the decoders stop behind the header.
  return decode(file, where, 0, nullptr);
}

Image resize_image(const Image& image, std::int64_t height,
                   std::int64_t width) {
  if (height < 1 || width < 1 || image.pixels.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "resize",
                "{} x {} pixels cannot become {} x {}", image.height,
                image.width, height, width);
  }
  Image result{height, width, image.channels, {}};
  result.pixels.resize(
      static_cast<std::size_t>(height * width * image.channels));
  // A new pixel covers `down` by `right` old ones, which need not be whole
  // numbers.
  const double down =
      static_cast<double>(image.height) / static_cast<double>(height);
  const double right =
      static_cast<double>(image.width) / static_cast<double>(width);
  std::size_t next = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    const double top = static_cast<double>(y) * down;
    const double bottom = top + down;
    for (std::int64_t x = 0; x < width; ++x) {
      const double left = static_cast<double>(x) * right;
      for (std::int64_t c = 0; c < image.channels; ++c) {
        double sum = 0;
        double area = 0;
        // A pixel becomes the mean of the area that it covers, so that nothing
        // between sampled points is lost where an image shrinks.
        for (auto v = static_cast<std::int64_t>(top);
             v < image.height && static_cast<double>(v) < bottom; ++v) {
          for (auto u = static_cast<std::int64_t>(left);
               u < image.width && static_cast<double>(u) < left + right; ++u) {
            const double weight =
                overlap(static_cast<double>(v), top, bottom) *
                overlap(static_cast<double>(u), left, left + right);
            const auto at = static_cast<std::size_t>(
                (v * image.width + u) * image.channels + c);
            sum += weight * image.pixels[at];
            area += weight;
          }
        }
        // The divisor is the area that was found, as rounding may cut off a
        // part at the edges.
        result.pixels[next++] =
            static_cast<std::uint8_t>(std::lround(sum / area));
      }
    }
  }
  return result;
}

namespace detail {

void check_image_size(const ImageHeader& header, std::size_t file_bytes,
                      std::string_view where) {
  if (header.height < 1 || header.width < 1) {
    throw Error(ErrorCode::kDataLoss, where, "byte 16: {} x {} pixels",
                header.height, header.width);
  }
  if (header.height > kMostImageSide || header.width > kMostImageSide) {
    throw Error(ErrorCode::kUnsupported, where,
                "{} x {} pixels; no side may be above {}", header.height,
                header.width, kMostImageSide);
  }
  // Neither deflate nor Huffman-coded blocks grow further than this: PNG is
  // deflate, and a JPEG block of 64 samples takes a bit at least.
  const auto pixels = static_cast<std::uint64_t>(header.height * header.width);
  // So a small file cannot make the program ask for memory by the gigabyte.
  if (pixels / 8 > kMostDeflateGrowth * file_bytes) {
    throw Error(ErrorCode::kDataLoss, where,
                "byte {}: a file of {} bytes cannot hold {} x {} pixels",
                file_bytes, file_bytes, header.height, header.width);
  }
}

}  // namespace detail
}  // namespace weft
