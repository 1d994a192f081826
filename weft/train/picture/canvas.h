// What pictures are drawn on: lines, discs and text, as SVG or as PNG. Who
// draws knows of neither.
//
// Coordinates are pixels from the upper left corner, y downwards.
//
// Threads: caller synchronises.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct Point {
  double x = 0;
  double y = 0;
};

using Colour = std::array<std::uint8_t, 3>;  // red, green, blue

struct Stroke {
  Colour colour = {0, 0, 0};
  double width = 1;
  std::vector<double> dashes = {};  // lengths of dash and gap; none: unbroken
};

enum class Anchor { kStart, kMiddle, kEnd };

class Canvas {
 public:
  virtual ~Canvas() = default;

  // Through all points, with round joins. A single point draws nothing.
  virtual void line(std::span<const Point> points, const Stroke& stroke) = 0;
  virtual void disc(Point centre, double radius, Colour colour) = 0;
  // On one line, in letters 11 pixels high; `at` is on its baseline, where
  // `anchor` says. PNG has the letters of ASCII, and '?' for any other.
  virtual void text(Point at, Anchor anchor, std::string_view text,
                    bool is_bold = false) = 0;
};

struct PictureSize {
  int width = 0;  // pixels
  int height = 0;
};

// A file's content, drawn by `draw` on a white ground.
std::string svg_picture(PictureSize size,
                        const std::function<void(Canvas&)>& draw);
// The same in twice as many pixels each way, so that lines are fine on screens
// of today. Throws Error(kExhausted) where there is no memory for it.
std::string png_picture(PictureSize size,
                        const std::function<void(Canvas&)>& draw);

}  // namespace weft
