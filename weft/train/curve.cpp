// The picture of a run: two panels with a line for each kind of data.
#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <functional>
#include <limits>

#include "weft/train/metrics_log.h"

namespace weft {
namespace {

constexpr double kWidth = 320;  // of a panel's plot area
constexpr double kHeight = 200;
constexpr double kLeft = 52;
constexpr double kTop = 44;
constexpr double kPanel = kWidth + kLeft + 20;
// Training is grey, since the line that a run is judged by is the held-out one.
constexpr const char* kTrainColour = "#8a8f98";
constexpr const char* kHeldOutColour = "#1f6feb";

struct Point {
  double x;
  double y;
};

struct Panel {
  std::string title;
  double left;  // of the plot area
  double low;
  double high;
  double last_epoch;

  double x(double epoch) const {
    // A run of one epoch has no width to divide by.
    const double span = std::max(last_epoch - 1, 1.0);
    return left + (epoch - 1) / span * kWidth;
  }
  double y(double value) const {
    // The y axis of SVG points down, so the highest value is next to the top.
    return kTop + (high - value) / (high - low) * kHeight;
  }
};

using Pick = std::function<double(const EpochMetrics&)>;

std::vector<Point> points_of(std::span<const EpochMetrics> epochs,
                             const Pick& pick) {
  std::vector<Point> points;
  for (const EpochMetrics& epoch : epochs) {
    // Epochs without a measurement are left out, and the line goes past them.
    if (!std::isfinite(pick(epoch))) continue;
    points.push_back({static_cast<double>(epoch.epoch), pick(epoch)});
  }
  return points;
}

// The largest of 1, 2, 5 times a power of ten that gives at least `count`
// steps over `span`.
double tick_step(double span, int count) {
  const double rough = span / count;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {5.0, 2.0}) {
    if (factor * power <= rough) return factor * power;
  }
  return power;
}

std::string line_of(const Panel& panel, const std::vector<Point>& points,
                    const char* colour) {
  if (points.empty()) return "";
  std::string path;
  for (const Point& point : points) {
    // A tenth of a pixel is finer than can be seen, and keeps the file small.
    path += fmt::format("{:.1f},{:.1f} ", panel.x(point.x), panel.y(point.y));
  }
  path.pop_back();
  // The dot marks the newest value, and is all that shows of a single one: a
  // polyline of one point draws nothing.
  const Point& last = points.back();
  return fmt::format(
             "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" "
             "stroke-width=\"1.8\" stroke-linejoin=\"round\"/>\n",
             path, colour) +
         fmt::format(
             "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.6\" "
             "fill=\"{}\"/>\n",
             panel.x(last.x), panel.y(last.y), colour);
}

std::string text(double x, double y, const char* anchor,
                 const std::string& what) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, what);
}

std::string grid_line(const Panel& panel, double y) {
  return fmt::format(
      "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" "
      "stroke=\"#d8dbe0\" stroke-width=\"0.7\"/>\n",
      panel.left, panel.left + kWidth, y);
}

std::string axes_of(const Panel& panel) {
  std::string svg = fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-weight=\"600\">{}</text>\n",
      panel.left, kTop - 10, panel.title);
  const double step = tick_step(panel.high - panel.low, 4);
  // The small numbers save the first and the last tick where a division puts
  // them just outside of the panel.
  for (double v = std::ceil(panel.low / step - 1e-9) * step;
       v <= panel.high + step * 1e-9; v += step) {
    svg += grid_line(panel, panel.y(v));
    svg += text(panel.left - 6, panel.y(v) + 3.5, "end",
                // Sums of steps miss zero by rounding.
                fmt::format("{:.4g}", std::abs(v) < step * 1e-6 ? 0 : v));
  }
  // Ticks stand at whole epochs, however few there are.
  const double epochs =
      std::max(1.0, std::ceil(tick_step(std::max(panel.last_epoch, 4.0), 5)));
  for (double e = epochs; e <= panel.last_epoch; e += epochs) {
    svg +=
        text(panel.x(e), kTop + kHeight + 16, "middle", fmt::format("{}", e));
  }
  return svg +
         text(panel.left + kWidth / 2, kTop + kHeight + 32, "middle", "epoch");
}

// What the y axis shows.
enum class Range {
  kFromZero,    // a loss
  kShareToOne,  // a share of what is right
  kAsMeasured,
};

std::string panel_of(const std::string& title, double left,
                     std::span<const EpochMetrics> epochs, const Pick& train,
                     const Pick& held_out, Range range) {
  const auto gray = points_of(epochs, train);
  const auto blue = points_of(epochs, held_out);
  // The bounds start at the value that a panel always shows, if there is one:
  // no loss, or every prediction right.
  double low = range == Range::kShareToOne ? 1 : 0;
  double high = low;
  if (range == Range::kAsMeasured) {
    low = std::numeric_limits<double>::max();
    high = std::numeric_limits<double>::lowest();
  }
  for (const auto* points : {&gray, &blue}) {
    for (const Point& point : *points) {
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  // A share's panel ends at 1 and begins at the tenth below the worst, where
  // differences can be seen.
  if (range == Range::kShareToOne) low = std::floor(low * 10) / 10;
  // A flat line needs a panel with a height, too, and so does an empty one.
  if (high < low) low = high = 0;
  if (high - low < 1e-6) high = low + 1;
  const Panel panel{
      title, left, low, high,
      epochs.empty() ? 1.0 : static_cast<double>(epochs.back().epoch)};
  return axes_of(panel) + line_of(panel, gray, kTrainColour) +
         line_of(panel, blue, kHeldOutColour);
}

std::string legend_entry(double x, const char* colour, const char* label) {
  return fmt::format(
             "<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"16\" y2=\"16\" "
             "stroke=\"{}\" stroke-width=\"2.4\"/>\n",
             x, x + 16, colour) +
         text(x + 21, 20, "start", label);
}

// Names may hold what XML takes for markup. Quotes may stay: the text is never
// put into an attribute.
std::string escaped(const std::string& plain) {
  std::string result;
  for (const char c : plain) {
    if (c == '<')
      result += "&lt;";
    else if (c == '&')
      result += "&amp;";
    else
      result += c;
  }
  return result;
}

}  // namespace

std::string training_curve_svg(const std::string& title,
                               const MetricDef& deciding,
                               std::span<const EpochMetrics> epochs) {
  // A run that is judged by its loss has one panel.
  const double width = (deciding.name == "loss" ? 1 : 2) * kPanel;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" "
      "width=\"{0}\" height=\"{1}\" font-family=\"sans-serif\" "
      "font-size=\"11\" fill=\"#3d434c\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      width, kTop + kHeight + 44);
  svg += text(kLeft, 20, "start", escaped(title));
  svg += legend_entry(width - 190, kTrainColour, "training");
  svg += legend_entry(width - 100, kHeldOutColour, "held out");
  const auto panel = [&](const std::string& name, double left, Range range) {
    return panel_of(
        name, left, epochs,
        [&](const EpochMetrics& e) { return e.train.get(name); },
        [&](const EpochMetrics& e) { return e.held_out.get(name); }, range);
  };
  svg += panel("loss", kLeft, Range::kFromZero);
  if (deciding.name != "loss") {
    svg += panel(
        deciding.name, kPanel + kLeft,
        deciding.name == "accuracy" ? Range::kShareToOne : Range::kAsMeasured);
  }
  return svg + "</svg>\n";
}

}  // namespace weft
