#include "weft/data/picture_set.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/base/error.h"

namespace weft {
namespace {

// A picture file beyond this is refused: it is not one to train on.
constexpr std::size_t kMostPictureBytes = std::size_t{256} << 20;

void check_bytes(ByteSpan bytes, const std::string& where) {
  if (bytes.size() <= kMostPictureBytes) return;
  throw Error(ErrorCode::kExhausted, where,
              "larger than the {} bytes allowed for a picture",
              kMostPictureBytes);
}

OptionSpec side(const char* name) {
  return {name,
          std::int64_t{0},
          "to which pictures are scaled; 0: they have one size already",
          {.least = 0, .most = kMostImageSide}};
}

}  // namespace

PictureSet::PictureSet(const ImageHeader& size)
    : height_(size.height), width_(size.width), is_scaled_(size.height > 0) {}

void PictureSet::describe(std::vector<std::int32_t> labels) {
  WEFT_CHECK(!labels.empty());
  labels_ = std::move(labels);
  size_ = static_cast<std::int64_t>(labels_.size());
  for (std::size_t row = 0; row < labels_.size(); ++row) {
    with_picture(row, [&](ByteSpan bytes, const std::string& where) {
      check_bytes(bytes, where);
      // Only headers are decoded, and of a mapped file the rest is not even
      // read.
      const ImageHeader header = read_image_header(bytes, where);
      if (row == 0) first_ = where;
      if (height_ == 0) {
        height_ = header.height;
        width_ = header.width;
      }
      if (!is_scaled_) check_size(header, where);
      channels_ = std::max(channels_, header.channels);
    });
  }
  features_ = {{"image", {DType::kU8, {height_, width_, channels_}}},
               {"label", {DType::kI32, {}}}};
  pixel_scale_ = unit_scale(channels_);
}

void PictureSet::read(std::span<const std::int64_t> rows,
                      std::span<const TensorView> batch) const {
  auto* images = batch[0].as<std::uint8_t>();
  auto* labels = batch[1].as<std::int32_t>();
  const auto size = static_cast<std::size_t>(height_ * width_ * channels_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto row = static_cast<std::size_t>(rows[i]);
    with_picture(row, [&](ByteSpan bytes, const std::string& where) {
      check_bytes(bytes, where);
      Image image = decode_image(bytes, where, static_cast<int>(channels_));
      if (is_scaled_) image = resize_image(image, height_, width_);
      // The file may have been replaced since its header was read.
      check_size({image.height, image.width, image.channels}, where);
      std::memcpy(images + i * size, image.pixels.data(), size);
    });
    labels[i] = labels_[row];
  }
}

void PictureSet::check_size(const ImageHeader& header,
                            const std::string& where) const {
  if (header.height == height_ && header.width == width_) return;
  throw Error(ErrorCode::kDataLoss, where, "{} x {} pixels, but {} has {} x {}",
              header.height, header.width, first_, height_, width_)
      .hint("data.height and data.width scale all pictures to one size");
}

std::vector<OptionSpec> picture_size_specs() {
  return {side("height"), side("width")};
}

ImageHeader picture_size(const Options& options) {
  const ImageHeader size{.height = option<std::int64_t>(options, "height"),
                         .width = option<std::int64_t>(options, "width")};
  if ((size.height == 0) != (size.width == 0)) {
    throw Error(ErrorCode::kInvalidArgument, "data",
                "height and width are given together, or neither is");
  }
  return size;
}

bool is_picture_name(const std::filesystem::path& path) {
  // std::tolower would go by the locale.
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return ending == ".png" || ending == ".jpg" || ending == ".jpeg";
}

}  // namespace weft
