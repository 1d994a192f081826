// What the workers of a simulated cluster are charged for computing: one for
// all of them.
//
// A step is computed for real, at once, and its time is charged piece by piece
// afterwards, so that a bucket of gradients leaves when backward would have
// come so far.
//
// Threads: caller synchronises.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/train/simulate/compute_law.h"

namespace weft {

// A forward and backward pass.
struct StepPrice {
  double seconds = 0;
  double examples = 0;  // of the batch that it is of
  // When each trainable parameter is read first, and when its gradient is
  // there, in seconds from the beginning.
  std::vector<double> use_at;
  std::vector<double> gradient_at;
  // The parameters in the order in which that happens.
  std::vector<std::size_t> uses;
  std::vector<std::size_t> gradients;
};

// How often a step is run to find out what it costs: as often as a figure
// needs, or once, to see in which order things happen.
enum class MeasuredRuns { kSome, kOne };

// What else a worker does, in seconds per byte of gradients (as f32).
struct SyncPrice {
  double encode = 0;
  double decode = 0;
  double update = 0;
  double rule = 0;  // of what it makes of all workers' gradients
};

class SimulatedComputing {
 public:
  // The law of [simulate] compute. Throws as make_compute_law().
  SimulatedComputing(const std::string& law, std::uint64_t seed);

  bool is_measured() const { return law_->is_measured(); }

  // What a step costs: as the first caller measures it, where the law wants
  // that; else a step of one second, whose forward pass takes a third of it.
  // Each parameter, of so many bytes, then takes its share of both passes, in
  // the order that was measured.
  const StepPrice& step_price(
      const std::function<StepPrice(MeasuredRuns)>& measure,
      std::span<const double> bytes);
  // What a step is charged that takes so long here, if nothing delays it: the
  // least of a worker's first few.
  double charged(double measured) const;
  // As the first caller measures it; nothing where the law speaks of a whole
  // step.
  const SyncPrice& sync_price(const std::function<SyncPrice()>& measure);

  // What a step of `rank` takes on so many examples. step_price() comes before.
  double seconds(int rank, std::int64_t step, double examples) const;

  // What was measured, for people; empty if nothing was.
  std::string text() const;

 private:
  std::unique_ptr<ComputeLaw> law_;
  std::optional<StepPrice> step_;
  std::optional<SyncPrice> sync_;
};

}  // namespace weft
