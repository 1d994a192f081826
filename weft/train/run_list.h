// Runs that folders hold, to list, compare and draw.
//
// Threads: value types and pure functions.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/base/error.h"
#include "weft/train/metrics_log.h"
#include "weft/train/picture/chart.h"
#include "weft/train/run_record.h"

namespace weft {

struct TrainedRun {
  std::filesystem::path folder;
  RunRecord record;
  std::vector<EpochMetrics> epochs;

  // The best epoch so far; null before the first measurement.
  const EpochMetrics* best() const;
};

// Throws Error(kInvalidArgument) for a folder that holds no run, naming those
// below it, and as read_record() and read_metrics() for a damaged one.
TrainedRun read_run(const std::filesystem::path& folder);

// Folders of runs in `root` or below, in order of their names, links not
// followed. Throws Error(kUnavailable) where `root` is no folder.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& root);

// The metric called `name`, or the one that decides in all runs. Throws
// Error(kInvalidArgument), saying what each run has, for one that not all have.
MetricDef common_metric(std::span<const TrainedRun> runs,
                        const std::optional<std::string>& name);

// The held-out course of all runs, of the loss and of `metric`, with training
// beside it where there is one run. `labels` are the names of the runs.
// Throws Error(kInvalidArgument) for more runs than can be told apart.
Chart chart_of(std::span<const TrainedRun> runs,
               std::span<const std::string> labels, const MetricDef& metric,
               CurveAxis over);

}  // namespace weft
