// PNG and JPEG files to pixels, by libpng and libjpeg.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/file.h"

namespace weft {

// Row-major, channels last: grey (1) or red, green, blue (3).
struct Image {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<std::uint8_t> pixels;
};

// What the header says, before anything is decoded. `channels` is 1 for grey
// files and 3 for all others; a channel of transparency is not among them.
struct ImageHeader {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  bool has_alpha = false;
  std::int64_t depth =
      8;  // bits of a sample; of a palette, those of its colours
};

// No side may be longer.
inline constexpr std::int64_t kMostImageSide = 16384;

// Transparency is dropped, 16 bits become 8, palettes become colours; grey
// is repeated or colours are weighed into grey when `channels` (1 or 3) asks
// for it. 0 takes what the file has.
// Throws Error(kDataLoss) naming `where` and about the byte at which decoding
// stopped, also for another format; Error(kUnsupported) for a side that is too
// long.
// A header that promises more pixels than the file's bytes can hold is
// refused before memory is taken.
Image decode_image(ByteSpan file, std::string_view where, int channels = 0);
ImageHeader read_image_header(ByteSpan file, std::string_view where);

// A PNG file of the pixels, grey or coloured. Throws Error(kExhausted) where
// memory is missing.
std::string encode_png(const Image& image);

// Scales by averaging the area under each new pixel; for showing a picture
// to a model of another size. Throws Error(kInvalidArgument) for sides below 1
// and for an empty image.
Image resize_image(const Image& image, std::int64_t height, std::int64_t width);

namespace detail {
// There is one per format; image.cpp picks by the first bytes. `image` is null
// when only the header is asked for.
ImageHeader decode_png(ByteSpan file, std::string_view where, int channels,
                       Image* image);
ImageHeader decode_jpeg(ByteSpan file, std::string_view where, int channels,
                        Image* image);
// Throws unless the sides are possible for a file of so many bytes.
void check_image_size(const ImageHeader& header, std::size_t file_bytes,
                      std::string_view where);
}  // namespace detail
}  // namespace weft
