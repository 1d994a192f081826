// Pictures of one size, or scaled to one, with a class each: PNG and JPEG files
// that are decoded when they are read, so that memory stays small. Where they
// lie is for the format to say.
//
// Threads: as Dataset.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/data/dataset.h"
#include "weft/data/image.h"

namespace weft {

class PictureSet : public Dataset {
 public:
  // (image u8[H, W, C], label i32[]).
  void read(std::span<const std::int64_t> rows,
            std::span<const TensorView> batch) const final;

 protected:
  // `size` has a height and width of 0 where all pictures have one of their
  // own.
  explicit PictureSet(const ImageHeader& size);

  // Shows the bytes of a picture, and what messages call it.
  using UsePicture = std::function<void(ByteSpan, const std::string& where)>;
  virtual void with_picture(std::size_t row, const UsePicture& use) const = 0;

  // Takes the labels, one per picture and at least one, and reads every header,
  // so that a picture of another size is found now and not in the middle of an
  // epoch. One colour picture makes all coloured. Called when with_picture()
  // can be.
  void describe(std::vector<std::int32_t> labels);

 private:
  void check_size(const ImageHeader& header, const std::string& where) const;

  std::vector<std::int32_t> labels_;
  std::int64_t height_;
  std::int64_t width_;
  bool is_scaled_;
  std::int64_t channels_ = 1;
  std::string first_;  // picture, for messages
};

// The keys height and width of [data], and what they say.
std::vector<OptionSpec> picture_size_specs();
// Throws Error(kInvalidArgument) for one of them without the other.
ImageHeader picture_size(const Options& options);

// Whether a file of this name is a picture: .png, .jpg, .jpeg, in any case.
bool is_picture_name(const std::filesystem::path& path);

}  // namespace weft
