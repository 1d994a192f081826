// What a run tells about itself: what is about to be trained, where it stands,
// what an epoch came to.
//
// Threads: value types.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "weft/tensor/dtype.h"
#include "weft/train/step/metrics.h"
#include "weft/train/step/traffic.h"

namespace weft {

// What is about to be trained.
struct TrainSummary {
  std::string name;
  std::string task;
  std::vector<MetricDef> metrics;
  MetricDef deciding;  // the one that says which epoch is best
  std::string model;
  std::string data;
  std::string unit;           // what an example is called: "img"
  DType dtype = DType::kF32;  // that heavy layers compute in
  std::int64_t parameters = 0;
  std::int64_t train_examples = 0;
  std::int64_t held_out_examples = 0;
  std::int64_t first_step = 0;  // above 0 when resumed
  int workers = 1;
  std::string sync;  // how they synchronise; empty for one
};

// Where a run stands.
struct TrainProgress {
  std::int64_t epoch = 0;  // from 1
  std::int64_t epochs = 0;
  std::int64_t examples = 0;  // of this epoch, seen
  std::int64_t all_examples = 0;
  std::int64_t examples_left = 0;  // in the whole run
  double samples_per_s = 0;
  Scores train;  // over the epoch so far
};

struct EpochMetrics {
  std::int64_t epoch = 0;  // from 1
  std::int64_t step = 0;   // steps done since the beginning
  double lr = 0;           // of the epoch's last step
  Scores train;
  Scores held_out;  // not measured in every epoch; see train.eval_every
  double samples_per_s = 0;
  double seconds = 0;  // since the beginning, without what was interrupted
  bool is_best = false;
  std::optional<StepTraffic> traffic;  // mean step of the first worker
};

// Is told how a run goes. Every function may throw, which ends the run.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const TrainSummary&) {}
  virtual void on_note(const std::string&) {}
  virtual void on_step(const TrainProgress&) {}
  virtual void on_epoch(const TrainProgress&, const EpochMetrics&) {}
};

// What a run on a cluster that is not there took on this machine.
struct SimulatedTime {
  double seconds_here = 0;
  // In which the first worker computed, among `TrainResult::seconds`.
  double computing_seconds = 0;
  // "20.3 ms for 32 examples, measured here"; empty where a law speaks of it.
  std::string price;
};

struct TrainResult {
  std::int64_t steps = 0;
  std::int64_t epochs = 0;
  double seconds = 0;
  double train_loss = kNotMeasured;  // mean of the last epoch
  // What the best checkpoint reaches on the test data, `predicted` included.
  Scores test;
  std::vector<PredictionScore> predicted;
  MetricDef deciding;  // the metric that chose it
  std::int64_t best_epoch = 0;
  double samples_per_s = 0;  // of all workers together
  int workers = 1;
  std::optional<StepTraffic> traffic;  // mean step of the first worker
  // All times are of a virtual clock; nothing for those of this machine.
  std::optional<SimulatedTime> simulated;
  std::filesystem::path checkpoint;  // the best one
};

}  // namespace weft
