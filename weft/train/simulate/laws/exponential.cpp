// Exponential times above a least one, drawn anew for each step of each worker:
// the usual law of waiting, and that of papers on stragglers.
#include <cmath>

#include "weft/base/ranges.h"
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class ExponentialLaw : public ComputeLaw {
 public:
  ExponentialLaw(double mean, double least, std::uint64_t seed)
      : mean_(mean), least_(least), seed_(seed) {}
  bool is_measured() const override { return false; }
  double seconds(const LawStep& step) const override {
    return least_ - mean_ * std::log(inner_share(law_words(seed_, step, 0)[0]));
  }

 private:
  double mean_;
  double least_;
  std::uint64_t seed_;
};

}  // namespace

void register_compute_law_exponential(ComputeLawRegistry& laws) {
  laws.add({.name = "exponential",
            .summary = "exponential above a least time",
            .options = {{.name = "mean",
                         .value = 0.02,
                         .summary = "beyond the least time",
                         .range = kPositive,
                         .unit = "seconds"},
                        {.name = "least",
                         .value = 0.0,
                         .summary = "that a step computes",
                         .range = kNotNegative,
                         .unit = "seconds"}},
            .make = [](const Options& options,
                       std::uint64_t seed) -> std::unique_ptr<ComputeLaw> {
              return std::make_unique<ExponentialLaw>(
                  option<double>(options, "mean"),
                  option<double>(options, "least"), seed);
            }});
}

}  // namespace weft
