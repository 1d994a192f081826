// The picture of a run: its course on training and on held-out data.
#include "weft/train/metrics_log.h"
#include "weft/train/picture/chart.h"

namespace weft {
namespace {

// Training is grey, since the line that a run is judged by is the held-out one.
const Stroke kTrainStroke{{0x8a, 0x8f, 0x98}, 1.8};
const Stroke kHeldOutStroke{{0x1f, 0x6f, 0xeb}, 1.8};

}  // namespace

std::vector<Point> points_of(std::span<const EpochMetrics> epochs,
                             Scores EpochMetrics::*part,
                             const std::string& metric, CurveAxis over) {
  std::vector<Point> points;
  for (const EpochMetrics& epoch : epochs) {
    // Epochs without a measurement are left out, and the line goes past them.
    const double y = (epoch.*part).get(metric);
    if (!std::isfinite(y)) continue;
    const double x =
        over == CurveAxis::kEpoch  ? static_cast<double>(epoch.epoch)
        : over == CurveAxis::kStep ? static_cast<double>(epoch.step)
                                   : epoch.seconds;
    points.push_back({x, y});
  }
  return points;
}

AxisRange range_of(const std::string& metric) {
  return metric == "loss"       ? AxisRange::kFromZero
         : metric == "accuracy" ? AxisRange::kShareToOne
                                : AxisRange::kAsMeasured;
}

std::string training_curve_svg(const std::string& title,
                               const MetricDef& deciding,
                               std::span<const EpochMetrics> epochs) {
  Chart chart{
      .title = title,
      .x_label = "epoch",
      .panels = {},
      .legend = {{"training", kTrainStroke}, {"held out", kHeldOutStroke}}};
  std::vector<std::string> metrics{"loss"};
  // A run that is judged by its loss has one panel.
  if (deciding.name != "loss") metrics.push_back(deciding.name);
  for (const std::string& metric : metrics) {
    const auto curve = [&](Scores EpochMetrics::*part, const Stroke& stroke) {
      return Curve{points_of(epochs, part, metric, CurveAxis::kEpoch), stroke};
    };
    chart.panels.push_back({metric,
                            range_of(metric),
                            {curve(&EpochMetrics::train, kTrainStroke),
                             curve(&EpochMetrics::held_out, kHeldOutStroke)}});
  }
  return svg_picture(size_of(chart),
                     [&](Canvas& canvas) { draw(chart, canvas); });
}

}  // namespace weft
