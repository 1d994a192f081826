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

#include "weft/train/progress.h"

namespace weft {

class MetricsLog {
 public:
  // Keeps the lines of epochs up to `last_epoch` from an earlier part of the
  // run; whatever cannot be read is left out.
  MetricsLog(std::filesystem::path folder, std::string title,
             MetricDef deciding, std::int64_t last_epoch);

  // Adds an epoch and writes both files anew, atomically.
  void add(const EpochMetrics& epoch);

  const std::vector<EpochMetrics>& epochs() const { return epochs_; }

 private:
  std::filesystem::path folder_;
  std::string title_;
  MetricDef deciding_;
  std::vector<EpochMetrics> epochs_;
};

std::string to_json(const EpochMetrics& epoch);

// The loss and the metric that decides which epoch is best, side by side, on
// training and held-out data.
std::string training_curve_svg(const std::string& title,
                               const MetricDef& deciding,
                               std::span<const EpochMetrics> epochs);

}  // namespace weft
