#include "weft/validation/image_counts.h"

#include <algorithm>

#include "weft/data/image.h"
#include "weft/validation/image_text.h"
#include "weft/validation/value_text.h"

namespace weft::validation {
namespace {

constexpr std::array<std::string_view, kImageMeasures> kMeasureNames = {
    "width", "height", "channels", "depth"};

// What the header says of a file whose pixels are all there.
ImageHeader decoded_header(ByteSpan file) {
  const ImageHeader header = read_image_header(file, "image");
  if (header.width * header.height > kMostDecodedPixels) {
    throw Error(ErrorCode::kUnsupported, "image",
                "{} x {} pixels are more than are decoded", header.height,
                header.width);
  }
  decode_image(file, "image");
  return header;
}

}  // namespace

std::string_view to_string(ImageMeasure measure) {
  return kMeasureNames[static_cast<std::size_t>(measure)];
}

void ImageCounts::add(std::string_view text) {
  if (image_format_of(text) == image_formats().size()) return;
  const std::string file = image_file_of(text);
  ImageCounts one;
  try {
    const ImageHeader header = decoded_header(
        {reinterpret_cast<const std::uint8_t*>(file.data()), file.size()});
    const std::array<std::int64_t, kImageMeasures> measured = {
        header.width, header.height,
        header.channels + (header.has_alpha ? 1 : 0), header.depth};
    one.decoded = 1;
    for (std::size_t i = 0; i < kImageMeasures; ++i) {
      one.ends[i] = {measured[i], measured[i]};
    }
  } catch (const Error& error) {
    one.undecoded = 1;
    one.reason = shown_text(error.message());
  }
  merge(one);
}

void ImageCounts::merge(const ImageCounts& other) {
  for (std::size_t i = 0; i < kImageMeasures && other.decoded > 0; ++i) {
    ends[i] = decoded == 0 ? other.ends[i]
                           : Ends{std::min(ends[i].least, other.ends[i].least),
                                  std::max(ends[i].most, other.ends[i].most)};
  }
  if (other.undecoded > 0) {
    reason = undecoded == 0 ? other.reason : std::min(reason, other.reason);
  }
  decoded += other.decoded;
  undecoded += other.undecoded;
}

void ImageCounts::write(StateWriter& out) const {
  out.number(decoded);
  out.number(undecoded);
  out.text(reason);
  for (const Ends& each : ends) {
    out.number(each.least);
    out.number(each.most);
  }
}

ImageCounts ImageCounts::read(StateReader& in) {
  ImageCounts counts;
  counts.decoded = in.number<std::uint64_t>();
  counts.undecoded = in.number<std::uint64_t>();
  counts.reason = in.text();
  if (!is_utf8(counts.reason)) in.fail("a reason is no text");
  for (Ends& each : counts.ends) {
    each.least = in.number<std::int64_t>();
    each.most = in.number<std::int64_t>();
    if (each.least > each.most) in.fail("an image is smaller than itself");
  }
  return counts;
}

}  // namespace weft::validation
