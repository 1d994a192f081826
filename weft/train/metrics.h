// What training measures.
//
// Threads: value types.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace weft {

inline constexpr double kNotMeasured = std::numeric_limits<double>::quiet_NaN();

// Mean loss and share of right predictions over several batches.
class RunningMean {
 public:
  void add(double mean_loss, double correct, std::int64_t predictions) {
    loss_sum += mean_loss * static_cast<double>(predictions);
    correct_sum += correct;
    count += static_cast<double>(predictions);
  }
  double loss() const { return count > 0 ? loss_sum / count : kNotMeasured; }
  double accuracy() const {
    return count > 0 ? correct_sum / count : kNotMeasured;
  }
  void add(const RunningMean& other) {
    loss_sum += other.loss_sum;
    correct_sum += other.correct_sum;
    count += other.count;
  }

  // The sums, so that a checkpoint can carry them.
  double loss_sum = 0;
  double correct_sum = 0;
  double count = 0;
};

struct Scores {
  double loss = kNotMeasured;
  double accuracy = kNotMeasured;
};

// What one worker's network did in a step, or on average.
struct StepTraffic {
  double bytes_sent = 0;
  double bytes_received = 0;
  double wire_seconds = 0;    // with anything under way
  double hidden_seconds = 0;  // of these, while the worker was computing
  double seconds = 0;         // of the whole step
  // Where gradients are sparsified, the share of the entries of their sum that
  // are not 0; and in steps that measure them, see sync/drift.h.
  double density = kNotMeasured;
  double xi = kNotMeasured;
  double drift = kNotMeasured;
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

}  // namespace weft
