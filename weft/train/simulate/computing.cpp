#include "weft/train/simulate/computing.h"

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

// Backward computes two products for each of forward's.
constexpr double kForwardShare = 1.0 / 3;

StepPrice assumed_price(StepPrice price, std::span<const double> bytes) {
  price.seconds = 1;
  price.examples = 1;
  const double all = std::accumulate(bytes.begin(), bytes.end(), 0.0);
  double done = 0;
  for (const std::size_t parameter : price.uses) {
    price.use_at[parameter] = kForwardShare * done / all;
    done += bytes[parameter];
  }
  done = 0;
  for (const std::size_t parameter : price.gradients) {
    done += bytes[parameter];
    price.gradient_at[parameter] =
        kForwardShare + (1 - kForwardShare) * done / all;
  }
  return price;
}

}  // namespace

SimulatedComputing::SimulatedComputing(const std::string& law,
                                       std::uint64_t seed)
    : law_(make_compute_law(law, seed)) {}

const StepPrice& SimulatedComputing::step_price(
    const std::function<StepPrice(MeasuredRuns)>& measure,
    std::span<const double> bytes) {
  if (!step_) {
    step_ = is_measured() ? measure(MeasuredRuns::kSome)
                          : assumed_price(measure(MeasuredRuns::kOne), bytes);
  }
  return *step_;
}

const SyncPrice& SimulatedComputing::sync_price(
    const std::function<SyncPrice()>& measure) {
  if (!sync_) sync_ = is_measured() ? measure() : SyncPrice();
  return *sync_;
}

double SimulatedComputing::seconds(int rank, std::int64_t step,
                                   double examples) const {
  WEFT_CHECK(step_.has_value());
  const double measured =
      is_measured() ? step_->seconds * examples / step_->examples : 0;
  return law_->seconds({.rank = rank, .number = step, .measured = measured});
}

double SimulatedComputing::charged(double measured) const {
  constexpr int kSteps = 5;
  double least = law_->seconds({.measured = measured});
  for (int step = 1; step < kSteps; ++step) {
    least =
        std::min(least, law_->seconds({.number = step, .measured = measured}));
  }
  return least;
}

std::string SimulatedComputing::text() const {
  if (!is_measured() || !step_) return "";
  return fmt::format("{:.3g} ms for {:.0f} examples, measured here",
                     1e3 * step_->seconds, step_->examples);
}

}  // namespace weft
