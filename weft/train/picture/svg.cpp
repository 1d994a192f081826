#include <fmt/core.h>
#include <fmt/ranges.h>

#include "weft/base/markup.h"
#include "weft/train/picture/canvas.h"

namespace weft {
namespace {

std::string hex(Colour colour) {
  return fmt::format("#{:02x}{:02x}{:02x}", colour[0], colour[1], colour[2]);
}

class SvgCanvas final : public Canvas {
 public:
  void line(std::span<const Point> points, const Stroke& stroke) override {
    if (points.size() < 2) return;
    std::string path;
    for (const Point& point : points) {
      // A tenth of a pixel is finer than can be seen, and keeps the file small.
      path += fmt::format("{:.1f},{:.1f} ", point.x, point.y);
    }
    path.pop_back();
    content_ += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" "
        "stroke-width=\"{}\" stroke-linejoin=\"round\"{}/>\n",
        path, hex(stroke.colour), stroke.width,
        stroke.dashes.empty() ? ""
                              : fmt::format(" stroke-dasharray=\"{}\"",
                                            fmt::join(stroke.dashes, " ")));
  }
  void disc(Point centre, double radius, Colour colour) override {
    content_ += fmt::format(
        "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" fill=\"{}\"/>\n",
        centre.x, centre.y, radius, hex(colour));
  }
  void text(Point at, Anchor anchor, std::string_view text,
            bool is_bold) override {
    // The order is that of Anchor.
    constexpr const char* kAnchors[] = {"start", "middle", "end"};
    content_ += fmt::format(
        "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n",
        at.x, at.y, kAnchors[static_cast<int>(anchor)],
        is_bold ? " font-weight=\"600\"" : "", markup_text(text));
  }

  std::string take() { return std::move(content_); }

 private:
  std::string content_;
};

}  // namespace

std::string svg_picture(PictureSize size,
                        const std::function<void(Canvas&)>& draw) {
  SvgCanvas canvas;
  draw(canvas);
  return fmt::format(
             "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} "
             "{1}\" "
             "width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
             "font-size=\"11\" fill=\"#3d434c\">\n"
             "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
             size.width, size.height) +
         canvas.take() + "</svg>\n";
}

}  // namespace weft
