#include "cli/picture.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace weft::cli {
namespace {

using Pixel = std::array<int, 3>;

Pixel pixel_at(const Image& image, std::int64_t row, std::int64_t column) {
  // A line shows two rows, so below an odd number of them is one of no pixels.
  if (row >= image.height) return {0, 0, 0};
  const auto at =
      static_cast<std::size_t>((row * image.width + column) * image.channels);
  const auto* pixel = image.pixels.data() + at;
  if (image.channels == 1) return {pixel[0], pixel[0], pixel[0]};
  return {pixel[0], pixel[1], pixel[2]};
}

// The upper half block shows the upper pixel in the foreground colour and the
// lower one in the background's.
std::string half_block(const Pixel& upper, const Pixel& lower) {
  return fmt::format("\033[38;2;{};{};{}m\033[48;2;{};{};{}m▀", upper[0],
                     upper[1], upper[2], lower[0], lower[1], lower[2]);
}

std::string coloured(const Image& image) {
  std::string text;
  for (std::int64_t row = 0; row < image.height; row += 2) {
    text += "  ";
    for (std::int64_t column = 0; column < image.width; ++column) {
      text += half_block(pixel_at(image, row, column),
                         pixel_at(image, row + 1, column));
    }
    // The colours end with the line, or its rest would have them too.
    text += "\033[0m\n";
  }
  return text;
}

std::string plain(const Image& image) {
  // The ramp goes from dark to bright, as terminals mostly are dark.
  constexpr std::string_view kRamp = " .:-=+*#%@";
  std::string text;
  for (std::int64_t row = 0; row < image.height; ++row) {
    std::string line = "  ";
    for (std::int64_t column = 0; column < image.width; ++column) {
      const Pixel p = pixel_at(image, row, column);
      const auto grey = static_cast<std::size_t>((p[0] + p[1] + p[2]) / 3);
      // Two characters are about as wide as a line is high.
      line.append(2, kRamp[grey * (kRamp.size() - 1) / 255]);
    }
    // Blanks at the end would only make the lines wrap.
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace

std::string draw_picture(const Image& image, bool has_colour, int columns) {
  // Without colour a pixel takes two columns.
  const std::int64_t cells = has_colour ? columns : columns / 2;
  const std::int64_t room = std::max<std::int64_t>(cells - 4, 8);
  if (image.width > room) {
    const std::int64_t height =
        std::max<std::int64_t>(image.height * room / image.width, 1);
    return draw_picture(resize_image(image, height, room), has_colour, columns);
  }
  return has_colour ? coloured(image) : plain(image);
}

}  // namespace weft::cli
