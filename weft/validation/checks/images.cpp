// Whether images can be decoded, and are as large, as coloured and as deep as
// the schema says.
#include "weft/validation/check.h"

namespace weft {
namespace {

using validation::FeatureCheck;
using validation::FeatureRule;
using validation::ImageCounts;
using validation::ImageMeasure;
using validation::ListBounds;

std::string_view kind_of(ImageMeasure measure) {
  switch (measure) {
    case ImageMeasure::kWidth:
    case ImageMeasure::kHeight:
      return "image_size";
    case ImageMeasure::kChannels:
      return "image_channels";
    case ImageMeasure::kDepth:
      return "image_depth";
  }
  return "";
}

std::string due_text(const ListBounds& due) {
  if (due.min && due.max && *due.min == *due.max) {
    return fmt::format("{} is", *due.min);
  }
  if (due.min && due.max)
    return fmt::format("{} to {} are", *due.min, *due.max);
  return due.min ? fmt::format("at least {} is", *due.min)
                 : fmt::format("at most {} is", *due.max);
}

void check_measure(FeatureCheck& feature, ImageMeasure measure) {
  const auto i = static_cast<std::size_t>(measure);
  ListBounds& bounds = feature.rule.image[i];
  const ImageCounts::Ends& seen = feature.seen.images->ends[i];
  const ListBounds due = bounds;
  if (bounds.min && seen.least < *bounds.min) bounds.min = seen.least;
  if (bounds.max && seen.most > *bounds.max) bounds.max = seen.most;
  if (bounds == due) return;
  feature.report(
      kind_of(measure), fmt::format("images of another {}", to_string(measure)),
      fmt::format("{} of {}, and {} due", to_string(measure),
                  seen.least == seen.most
                      ? fmt::format("{}", seen.least)
                      : fmt::format("{} to {}", seen.least, seen.most),
                  due_text(due)));
}

void check_decoding(FeatureCheck& feature) {
  FeatureRule& rule = feature.rule;
  const ImageCounts& seen = *feature.seen.images;
  const auto values = static_cast<double>(feature.seen.values);
  const auto undecoded = static_cast<double>(seen.undecoded);
  if (undecoded <= (1 - rule.min_domain_mass) * values + 1e-6) return;
  // What is left for the others; where that is nothing, bounds of images are of
  // none.
  const double share = validation::share_below(1 - undecoded / values);
  if (share > 0) {
    rule.min_domain_mass = share;
  } else {
    rule.image = {};
  }
  feature.report(
      "undecoded_image", "images that cannot be decoded",
      fmt::format("{} of {} values ({}): {}", seen.undecoded,
                  feature.seen.values,
                  validation::share_text(undecoded / values), seen.reason));
}

void check_images(FeatureCheck& feature) {
  FeatureRule& rule = feature.rule;
  if (!rule.decodes_images() || feature.seen.values == 0) return;
  if (!feature.seen.images) {
    rule.image = {};
    return feature.report(
        "undecoded_image", "images that nobody has decoded",
        "these statistics were kept without them: count the data with the "
        "schema");
  }
  check_decoding(feature);
  for (std::size_t i = 0;
       i < validation::kImageMeasures && feature.seen.images->decoded > 0;
       ++i) {
    check_measure(feature, static_cast<ImageMeasure>(i));
  }
}

}  // namespace

void register_check_images(validation::FeatureCheckRegistry& registry) {
  registry.add({.name = "images",
                .order = 66,
                .kinds = {{"undecoded_image",
                           "more images than 1 - min_domain_mass cannot be "
                           "decoded"},
                          {"image_size", "an image is too small or too large"},
                          {"image_channels",
                           "an image has too few or too many channels"},
                          {"image_depth",
                           "an image has too few or too many bits a sample"}},
                .check = check_images});
}

}  // namespace weft
