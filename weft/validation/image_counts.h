// What the images of a feature are once they are decoded, as the readers of
// training decode them (weft/data/image.h): their sizes, channels and depths,
// and how many are damaged behind a sound beginning.
//
// Threads: a value type.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "weft/validation/state_bytes.h"

namespace weft::validation {

// Width and height are pixels. Transparency is a channel, and a palette is
// three. The depth is bits of a sample.
enum class ImageMeasure : std::uint8_t { kWidth, kHeight, kChannels, kDepth };
inline constexpr std::size_t kImageMeasures = 4;
// "width", "height", "channels", "depth".
std::string_view to_string(ImageMeasure measure);

// More pixels are not decoded, so that a small text cannot ask for much memory:
// 100 MB of colours.
inline constexpr std::int64_t kMostDecodedPixels = std::int64_t{1} << 25;

struct ImageCounts {
  struct Ends {
    std::int64_t least = 0;
    std::int64_t most = 0;

    bool operator==(const Ends&) const = default;
  };

  std::uint64_t decoded = 0;
  // Those that begin as images and cannot be decoded: damaged ones, and those
  // of formats that no reader has.
  std::uint64_t undecoded = 0;
  // Why one of these cannot; of several reasons the first by the alphabet, so
  // that it is the same whatever parts the data came in.
  std::string reason = {};
  // These are of the decoded ones, which there must be.
  std::array<Ends, kImageMeasures> ends = {};

  // A text that is no image counts as nothing.
  void add(std::string_view text);
  void merge(const ImageCounts& other);
  void write(StateWriter& out) const;
  static ImageCounts read(StateReader& in);

  bool operator==(const ImageCounts&) const = default;
};

}  // namespace weft::validation
