// Normal times around a mean, drawn anew for each step of each worker.
#include "weft/base/ranges.h"
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class NormalLaw : public ComputeLaw {
 public:
  NormalLaw(double mean, double deviation, std::uint64_t seed)
      : mean_(mean), deviation_(deviation), seed_(seed) {}
  bool is_measured() const override { return false; }
  double seconds(const LawStep& step) const override {
    // No step takes less than no time: such draws are thrown away, which is the
    // normal distribution above 0.
    for (std::uint64_t draw = 0;; ++draw) {
      const PhiloxBlock words = law_words(seed_, step, draw);
      const double seconds =
          mean_ * (1 + deviation_ * static_cast<double>(
                                        normal_from(words[0], words[1])[0]));
      if (seconds > 0) return seconds;
    }
  }

 private:
  double mean_;
  double deviation_;
  std::uint64_t seed_;
};

}  // namespace

void register_compute_law_normal(ComputeLawRegistry& laws) {
  laws.add({.name = "normal",
            .summary = "normal around a mean, and above 0",
            .options = {{.name = "mean",
                         .value = 0.02,
                         .summary = "that a step computes",
                         .range = kPositive,
                         .unit = "seconds"},
                        {.name = "deviation",
                         .value = 0.05,
                         .summary = "the standard deviation, of the mean",
                         .range = {.least = 0, .most = 1},
                         .unit = "share"}},
            .make = [](const Options& options,
                       std::uint64_t seed) -> std::unique_ptr<ComputeLaw> {
              return std::make_unique<NormalLaw>(
                  option<double>(options, "mean"),
                  option<double>(options, "deviation"), seed);
            }});
}

}  // namespace weft
