// The same time for every step of every worker.
#include "weft/base/ranges.h"
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class ConstantLaw : public ComputeLaw {
 public:
  explicit ConstantLaw(double seconds) : seconds_(seconds) {}
  bool is_measured() const override { return false; }
  double seconds(const LawStep&) const override { return seconds_; }

 private:
  double seconds_;
};

}  // namespace

void register_compute_law_constant(ComputeLawRegistry& laws) {
  laws.add({.name = "constant",
            .summary = "the same for every step",
            .options = {{.name = "seconds",
                         .value = 0.02,
                         .summary = "that a step computes",
                         .range = kPositive,
                         .unit = "seconds"}},
            .make = [](const Options& options,
                       std::uint64_t) -> std::unique_ptr<ComputeLaw> {
              return std::make_unique<ConstantLaw>(
                  option<double>(options, "seconds"));
            }});
}

}  // namespace weft
