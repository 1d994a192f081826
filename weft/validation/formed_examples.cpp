#include "weft/validation/formed_examples.h"

#include <algorithm>

#include "weft/data/image.h"
#include "weft/validation/image_text.h"

namespace weft::validation {
namespace {

constexpr std::int64_t kOpenSide = 256;
constexpr std::int64_t kDepth = 8;

const ListBounds& bounds_of(const FeatureRule& rule, ImageMeasure measure) {
  return rule.image[static_cast<std::size_t>(measure)];
}

bool allows(const ListBounds& bounds, std::int64_t value) {
  return value >= bounds.min.value_or(value) &&
         value <= bounds.max.value_or(value);
}

// The least and the most of a side; none where there is no such.
std::vector<std::int64_t> sides_of(const ListBounds& bounds) {
  const std::int64_t least = std::max<std::int64_t>(bounds.min.value_or(1), 1);
  const std::int64_t most =
      std::min(bounds.max.value_or(kOpenSide), std::max(least, kOpenSide));
  if (least > most) return {};
  if (least == most) return {least};
  return {least, most};
}

// Shades, as an image of one colour is plainer than programs expect.
std::string png_text(std::int64_t height, std::int64_t width,
                     std::int64_t channels) {
  Image image{height, width, channels, {}};
  image.pixels.resize(static_cast<std::size_t>(height * width * channels));
  for (std::size_t i = 0; i < image.pixels.size(); ++i) {
    image.pixels[i] = static_cast<std::uint8_t>(i);
  }
  return image_text_of(encode_png(image));
}

std::vector<std::string> bounded_images(const FeatureRule& rule) {
  std::vector<std::string> images;
  for (const std::int64_t channels : {1, 3}) {
    if (!allows(bounds_of(rule, ImageMeasure::kChannels), channels)) continue;
    for (const auto height : sides_of(bounds_of(rule, ImageMeasure::kHeight))) {
      for (const auto width : sides_of(bounds_of(rule, ImageMeasure::kWidth))) {
        images.push_back(png_text(height, width, channels));
      }
    }
  }
  const bool is_made = (rule.format.empty() || rule.format == "png") &&
                       allows(bounds_of(rule, ImageMeasure::kDepth), kDepth);
  if (is_made && !images.empty()) return images;
  throw Error(ErrorCode::kUnsupported, rule.name,
              "images that are made are PNG files of 8 bits, grey or coloured, "
              "and the schema allows none of these")
      .hint(
          "mark the feature as stage = \"debug_only\" in the schema that "
          "programs are tried on");
}

}  // namespace

std::vector<std::string> formed_examples(const FeatureRule& rule) {
  if (rule.decodes_images()) return bounded_images(rule);
  return form_examples(*form_of(rule.domain), rule.format,
                       rule.type == ValueType::kInt);
}

}  // namespace weft::validation
