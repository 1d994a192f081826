// Pixels by Anti-Grain Geometry, whose letters are strokes that it brings
// along: a machine without fonts draws the same picture.
#include <agg_conv_dash.h>
#include <agg_conv_stroke.h>
#include <agg_gsv_text.h>
#include <agg_path_storage.h>
#include <agg_pixfmt_rgb.h>
#include <agg_rasterizer_scanline_aa.h>
#include <agg_renderer_base.h>
#include <agg_renderer_scanline.h>
#include <agg_scanline_p.h>

#include "weft/data/image.h"
#include "weft/train/picture/canvas.h"

namespace weft {
namespace {

constexpr int kPixelsPerUnit = 2;
constexpr Colour kInk{0x3d, 0x43, 0x4c};  // as in SVG
constexpr double kLetterHeight = 8.2;     // of capitals, as in letters of 11

// The library has ASCII; every other character, however many bytes it has, is
// one '?'.
std::string ascii(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // Bytes of this form go on with a character of UTF-8 that has been counted.
    if ((byte & 0xC0) == 0x80) continue;
    result += byte < 0x20 || byte > 0x7E ? '?' : c;
  }
  return result;
}

class PngCanvas final : public Canvas {
 public:
  // The picture begins white, with three bytes a pixel.
  explicit PngCanvas(PictureSize size)
      : width_(static_cast<unsigned>(size.width * kPixelsPerUnit)),
        height_(static_cast<unsigned>(size.height * kPixelsPerUnit)),
        bytes_(std::size_t{3} * width_ * height_, 0xFF),
        rows_(bytes_.data(), width_, height_, static_cast<int>(3 * width_)),
        pixels_(rows_),
        surface_(pixels_) {}

  void line(std::span<const Point> points, const Stroke& stroke) override {
    if (points.size() < 2) return;
    agg::path_storage path;
    path.move_to(scaled(points[0].x), scaled(points[0].y));
    for (const Point& point : points.subspan(1)) {
      path.line_to(scaled(point.x), scaled(point.y));
    }
    if (stroke.dashes.empty()) return draw_stroke(path, stroke);
    agg::conv_dash<agg::path_storage> dashes(path);
    // Dashes stand in pairs: a stroke, and the gap behind it.
    for (std::size_t i = 0; i + 1 < stroke.dashes.size(); i += 2) {
      dashes.add_dash(scaled(stroke.dashes[i]), scaled(stroke.dashes[i + 1]));
    }
    draw_stroke(dashes, stroke);
  }
  void disc(Point centre, double radius, Colour colour) override {
    // The disc is a line with round ends that is next to no length. Of none at
    // all, the library draws nothing.
    agg::path_storage path;
    path.move_to(scaled(centre.x), scaled(centre.y));
    path.line_to(scaled(centre.x) + 0.01, scaled(centre.y));
    draw_stroke(path, {colour, 2 * radius});
  }
  void text(Point at, Anchor anchor, std::string_view text,
            bool is_bold) override {
    const std::string letters = ascii(text);
    agg::gsv_text path;
    // The letters' heights count upwards, and the picture's rows downwards.
    path.flip(true);
    path.size(scaled(kLetterHeight), scaled(kLetterHeight * 0.8));
    path.text(letters.c_str());
    const double back = anchor == Anchor::kStart ? 0
                        : anchor == Anchor::kEnd ? 1
                                                 : 0.5;
    path.start_point(scaled(at.x) - back * path.text_width(), scaled(at.y));
    draw_stroke(path, {kInk, is_bold ? 1.5 : 0.9});
  }

  std::string take() const {
    return encode_png({.height = static_cast<std::int64_t>(height_),
                       .width = static_cast<std::int64_t>(width_),
                       .channels = 3,
                       .pixels = {bytes_.begin(), bytes_.end()}});
  }

 private:
  static double scaled(double length) { return length * kPixelsPerUnit; }

  template <class Path>
  void draw_stroke(Path& path, const Stroke& stroke) {
    agg::conv_stroke<Path> outline(path);
    outline.width(scaled(stroke.width));
    outline.line_join(agg::round_join);
    outline.line_cap(agg::round_cap);
    rasterizer_.add_path(outline);
    fill(stroke.colour);
  }
  void fill(Colour colour) {
    agg::render_scanlines_aa_solid(rasterizer_, scanline_, surface_,
                                   agg::rgba8(colour[0], colour[1], colour[2]));
    // Else the next shape would be drawn together with this one.
    rasterizer_.reset();
  }

  unsigned width_;
  unsigned height_;
  std::vector<unsigned char> bytes_;
  agg::rendering_buffer rows_;
  agg::pixfmt_rgb24 pixels_;
  agg::renderer_base<agg::pixfmt_rgb24> surface_;
  agg::rasterizer_scanline_aa<> rasterizer_;
  agg::scanline_p8 scanline_;
};

}  // namespace

std::string png_picture(PictureSize size,
                        const std::function<void(Canvas&)>& draw) {
  PngCanvas canvas(size);
  draw(canvas);
  return canvas.take();
}

}  // namespace weft
