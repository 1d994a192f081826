// Pareto times, drawn anew for each step of each worker: most are short, and
// some are so long that they make up much of the mean.
#include <cmath>

#include "weft/base/ranges.h"
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class ParetoLaw : public ComputeLaw {
 public:
  ParetoLaw(double least, double shape, std::uint64_t seed)
      : least_(least), shape_(shape), seed_(seed) {}
  bool is_measured() const override { return false; }
  double seconds(const LawStep& step) const override {
    return least_ *
           std::pow(inner_share(law_words(seed_, step, 0)[0]), -1 / shape_);
  }

 private:
  double least_;
  double shape_;
  std::uint64_t seed_;
};

}  // namespace

void register_compute_law_pareto(ComputeLawRegistry& laws) {
  laws.add({.name = "pareto",
            .summary = "mostly short, and now and then very long",
            .options = {{.name = "least",
                         .value = 0.01,
                         .summary = "that a step computes",
                         .range = kPositive,
                         .unit = "seconds"},
                        {.name = "shape",
                         .value = 2.5,
                         .summary = "the larger, the rarer are long steps; the "
                                    "mean is least * shape / (shape - 1)",
                         .range = {.least = 1, .is_open_below = true}}},
            .make = [](const Options& options,
                       std::uint64_t seed) -> std::unique_ptr<ComputeLaw> {
              return std::make_unique<ParetoLaw>(
                  option<double>(options, "least"),
                  option<double>(options, "shape"), seed);
            }});
}

}  // namespace weft
