// The measured course of a run: one JSON object per epoch in metrics.jsonl,
// and the same as a picture in curve.svg.
//
// Threads: caller synchronises.
// Errors:  as write_file.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "weft/train/picture/chart.h"
#include "weft/train/progress.h"

namespace weft {

class MetricsLog {
 public:
  // Keeps the lines of epochs up to `last_epoch`, and of steps up to
  // `last_step`, from an earlier part of the run; whatever cannot be read is
  // left out. Without such epochs, both files are removed.
  MetricsLog(std::filesystem::path folder, std::string title,
             MetricDef deciding, std::int64_t last_epoch,
             std::int64_t last_step);

  // Adds an epoch and writes both files anew, atomically, which takes time in
  // proportion to the epochs so far.
  void add(const EpochMetrics& epoch);

  const std::vector<EpochMetrics>& epochs() const { return epochs_; }

 private:
  std::filesystem::path folder_;
  std::string title_;
  MetricDef deciding_;
  std::vector<EpochMetrics> epochs_;
};

std::string to_json(const EpochMetrics& epoch);

// The epochs of metrics.jsonl in `folder`, in order; none where the file is not
// there, as before the first epoch of a run. Throws Error(kDataLoss) naming
// file and line for a damaged one.
std::vector<EpochMetrics> read_metrics(const std::filesystem::path& folder);

// What a curve is drawn over: the epoch, steps since the beginning, or seconds.
enum class CurveAxis { kEpoch, kStep, kTime };
// The course of a metric on training or held-out data, where it was measured.
std::vector<Point> points_of(std::span<const EpochMetrics> epochs,
                             Scores EpochMetrics::*part,
                             const std::string& metric, CurveAxis over);
AxisRange range_of(const std::string& metric);

// The loss and the metric that decides which epoch is best, side by side, on
// training and held-out data.
std::string training_curve_svg(const std::string& title,
                               const MetricDef& deciding,
                               std::span<const EpochMetrics> epochs);

}  // namespace weft
