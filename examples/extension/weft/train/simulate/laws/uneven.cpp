// Machines of several generations: each worker is as slow as its number says,
// the last so many times slower than the first.
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class Uneven : public ComputeLaw {
 public:
  Uneven(double slowest, std::int64_t kinds)
      : slowest_(slowest), kinds_(kinds) {}
  bool is_measured() const override { return true; }
  double seconds(const LawStep& step) const override {
    const auto kind = static_cast<double>(step.rank % kinds_);
    const auto last = static_cast<double>(kinds_ - 1);
    return step.measured * (1 + (slowest_ - 1) * kind / last);
  }

 private:
  double slowest_;
  std::int64_t kinds_;
};

}  // namespace

void register_compute_law_uneven(ComputeLawRegistry& laws) {
  laws.add(
      {.name = "uneven",
       .summary = "as measured, on machines of several generations",
       .options =
           {{"slowest", 2.0, "times as long as on the fastest", {.least = 1}},
            {"kinds",
             std::int64_t{4},
             "of machines, in turn",
             {.least = 2, .most = 1024}}},
       .make = [](const Options& options,
                  std::uint64_t) -> std::unique_ptr<ComputeLaw> {
         return std::make_unique<Uneven>(
             option<double>(options, "slowest"),
             option<std::int64_t>(options, "kinds"));
       }});
}

}  // namespace weft
