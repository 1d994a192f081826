// What this machine takes, or a processor that is so many times slower.
#include "weft/base/ranges.h"
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class MeasuredLaw : public ComputeLaw {
 public:
  explicit MeasuredLaw(double factor) : factor_(factor) {}
  bool is_measured() const override { return true; }
  double seconds(const LawStep& step) const override {
    return factor_ * step.measured;
  }

 private:
  double factor_;
};

}  // namespace

void register_compute_law_measured(ComputeLawRegistry& laws) {
  laws.add(
      {.name = "measured",
       .summary = "as long as on this machine, measured before the run",
       .options = {{"factor", 1.0,
                    "times as long: 2 is half as fast a processor", kPositive}},
       .make = [](const Options& options,
                  std::uint64_t) -> std::unique_ptr<ComputeLaw> {
         return std::make_unique<MeasuredLaw>(
             option<double>(options, "factor"));
       }});
}

}  // namespace weft
