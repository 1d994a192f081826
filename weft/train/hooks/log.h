// Keeps the course of a run in its folder: metrics.jsonl and curve.svg by
// epoch, and with several workers traffic.jsonl by step.
//
// Threads: the loop's.
#pragma once

#include <optional>
#include <string>

#include "weft/train/metrics_log.h"
#include "weft/train/step/train_hook.h"
#include "weft/train/traffic_log.h"

namespace weft {

class LogHook : public TrainHook {
 public:
  explicit LogHook(std::string title) : title_(std::move(title)) {}

  void on_start(TrainLoop& loop) override;
  void on_step(TrainLoop& loop) override;
  void on_measure(TrainLoop& loop) override;
  // Runs behind SaveHook: what the log had beyond a checkpoint would be
  // measured again.
  void on_epoch(TrainLoop& loop) override;

  // Counts since this process began.
  StepTraffic mean_traffic() const { return traffic_.mean(); }

 private:
  std::string title_;
  std::optional<MetricsLog> log_;
  std::optional<TrafficLog> traffic_log_;
  TrafficMean traffic_;
};

}  // namespace weft
