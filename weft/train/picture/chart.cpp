#include "weft/train/picture/chart.h"

#include <algorithm>
#include <cmath>
#include <fmt/core.h>
#include <limits>
#include <utility>

namespace weft {
namespace {

constexpr double kPlotWidth = 320;  // of a panel
constexpr double kPlotHeight = 200;
constexpr double kPlotLeft = 52;
constexpr double kPlotTop = 56;
constexpr double kPanelWidth = kPlotWidth + kPlotLeft + 20;
constexpr double kLegendTop = kPlotTop + kPlotHeight + 54;
constexpr double kLegendLine = 17;
constexpr double kSampleWidth = 22;  // of a line in the legend
// A letter is this wide on average: fonts differ, and so do PNG's strokes.
constexpr double kLetterWidth = 6.2;
constexpr Colour kGridColour{0xd8, 0xdb, 0xe0};
constexpr double kNearly = 1e-9;

struct Bounds {
  double low = 0;
  double high = 1;
};

struct Axes {
  double left;  // of the plot area
  Bounds x;
  Bounds y;

  Point at(const Point& p) const {
    return {left + (p.x - x.low) / (x.high - x.low) * kPlotWidth,
            // Pixels are counted downwards.
            kPlotTop + (y.high - p.y) / (y.high - y.low) * kPlotHeight};
  }
};

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

// Multiples of `step`. The small numbers save the first and the last one where
// a division puts them just outside of the bounds.
std::vector<double> ticks(const Bounds& bounds, double step) {
  std::vector<double> all;
  const double first = std::ceil(bounds.low / step - kNearly);
  const double last = std::floor(bounds.high / step + kNearly);
  // Adding 0 makes 0 of -0.
  for (double i = first; i <= last; ++i) all.push_back(i * step + 0.0);
  return all;
}

// A panel without points shows axes from 0 to 1, and a flat line needs a
// height.
Bounds widened(Bounds bounds) {
  // Without a point, the lowest is still above the highest.
  if (!(bounds.low <= bounds.high)) return {0, 1};
  const double size = std::max(std::abs(bounds.low), std::abs(bounds.high));
  if (bounds.high - bounds.low <= 1e-6 * size || bounds.low == bounds.high) {
    bounds.high = bounds.low + std::max(1.0, size);
  }
  return bounds;
}

Bounds bounds_of(const Panel& panel, double Point::*axis) {
  Bounds bounds{std::numeric_limits<double>::max(),
                std::numeric_limits<double>::lowest()};
  for (const Curve& curve : panel.curves) {
    for (const Point& point : curve.points) {
      bounds.low = std::min(bounds.low, point.*axis);
      bounds.high = std::max(bounds.high, point.*axis);
    }
  }
  return bounds;
}

Bounds y_bounds(const Panel& panel) {
  Bounds bounds = bounds_of(panel, &Point::y);
  if (panel.range == AxisRange::kFromZero) {
    bounds.low = std::min(bounds.low, 0.0);
  } else if (panel.range == AxisRange::kShareToOne &&
             bounds.low <= bounds.high) {
    // It begins at the tenth below the worst, where differences can be seen.
    bounds.low = std::min(std::floor(bounds.low * 10) / 10, 0.9);
    bounds.high = std::max(bounds.high, 1.0);
  }
  return widened(bounds);
}

void draw_axes(const Chart& chart, const Panel& panel, const Axes& axes,
               Canvas& canvas) {
  canvas.text({axes.left, kPlotTop - 10}, Anchor::kStart, panel.title, true);
  const double step = tick_step(axes.y.high - axes.y.low, 4);
  for (const double value : ticks(axes.y, step)) {
    const double y = axes.at({axes.x.low, value}).y;
    canvas.line(std::vector<Point>{{axes.left, y}, {axes.left + kPlotWidth, y}},
                {kGridColour, 0.7});
    canvas.text({axes.left - 6, y + 3.5}, Anchor::kEnd,
                fmt::format("{:.4g}", value));
  }
  double x_step = tick_step(axes.x.high - axes.x.low, 5);
  // There is no half epoch that a label could name.
  if (chart.has_whole_x) x_step = std::max(1.0, std::ceil(x_step));
  for (const double value : ticks(axes.x, x_step)) {
    const double x = axes.at({value, axes.y.low}).x;
    const double bottom = kPlotTop + kPlotHeight;
    canvas.line(std::vector<Point>{{x, bottom}, {x, bottom + 3}},
                {kGridColour, 1});
    canvas.text({x, bottom + 16}, Anchor::kMiddle,
                fmt::format("{:.6g}", value));
  }
  canvas.text({axes.left + kPlotWidth / 2, kPlotTop + kPlotHeight + 32},
              Anchor::kMiddle, chart.x_label);
}

void draw_curve(const Curve& curve, const Axes& axes, Canvas& canvas) {
  if (curve.points.empty()) return;
  std::vector<Point> points;
  for (const Point& point : curve.points) points.push_back(axes.at(point));
  canvas.line(points, curve.stroke);
  // The dot marks the newest value, and is all that shows of a single one.
  canvas.disc(points.back(), 2.6, curve.stroke.colour);
}

double chart_width(const Chart& chart) {
  return static_cast<double>(chart.panels.size()) * kPanelWidth;
}

// Where the entries of the legend stand: side by side as long as there is room.
std::vector<Point> legend_places(const Chart& chart) {
  std::vector<Point> places;
  Point at{kPlotLeft, kLegendTop};
  for (const LegendEntry& entry : chart.legend) {
    // Bytes are counted: a name beyond ASCII gets too much room, and never too
    // little.
    const double width = kSampleWidth + 10 +
                         kLetterWidth * static_cast<double>(entry.label.size());
    // An entry that is too wide for any line has one of its own.
    if (at.x > kPlotLeft && at.x + width > chart_width(chart)) {
      at = {kPlotLeft, at.y + kLegendLine};
    }
    places.push_back(at);
    at.x += width + 10;
  }
  return places;
}

}  // namespace

PictureSize size_of(const Chart& chart) {
  const auto places = legend_places(chart);
  const double bottom =
      places.empty() ? kLegendTop - kLegendLine : places.back().y;
  return {static_cast<int>(chart_width(chart)), static_cast<int>(bottom + 14)};
}

void draw(const Chart& chart, Canvas& canvas) {
  canvas.text({kPlotLeft, 22}, Anchor::kStart, chart.title, true);
  double left = kPlotLeft;
  for (const Panel& panel : chart.panels) {
    const Axes axes{left, widened(bounds_of(panel, &Point::x)),
                    y_bounds(panel)};
    draw_axes(chart, panel, axes, canvas);
    for (const Curve& curve : panel.curves) draw_curve(curve, axes, canvas);
    left += kPanelWidth;
  }
  const auto places = legend_places(chart);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const Point& at = places[i];
    canvas.line(
        std::vector<Point>{{at.x, at.y - 4}, {at.x + kSampleWidth, at.y - 4}},
        chart.legend[i].stroke);
    canvas.text({at.x + kSampleWidth + 6, at.y}, Anchor::kStart,
                chart.legend[i].label);
  }
}

}  // namespace weft
