// Now and then a worker is slow for a step: each by itself, with a chance, so
// many times slower than another law says.
#include "weft/base/ranges.h"
#include "weft/train/simulate/compute_law.h"

namespace weft {
namespace {

class StragglersLaw : public ComputeLaw {
 public:
  StragglersLaw(double share, double factor, std::unique_ptr<ComputeLaw> of,
                std::uint64_t seed)
      : share_(share), factor_(factor), of_(std::move(of)), seed_(seed) {}
  bool is_measured() const override { return of_->is_measured(); }
  double seconds(const LawStep& step) const override {
    const double usual = of_->seconds(step);
    const float chance = uniform_from(law_words(seed_, step, 0)[0]);
    return static_cast<double>(chance) < share_ ? factor_ * usual : usual;
  }

 private:
  double share_;
  double factor_;
  std::unique_ptr<ComputeLaw> of_;
  std::uint64_t seed_;
};

}  // namespace

void register_compute_law_stragglers(ComputeLawRegistry& laws) {
  laws.add(
      {.name = "stragglers",
       .summary = "another law, with steps that take several times as long",
       .options = {{.name = "share",
                    .value = 0.1,
                    .summary = "of steps that are slow",
                    .range = {.least = 0, .most = 1},
                    .unit = "share"},
                   {.name = "factor",
                    .value = 4.0,
                    .summary = "times as long as usual",
                    .range = {.least = 1}},
                   {.name = "of",
                    .value = std::string("measured"),
                    .summary = "the law of a usual step",
                    .calls = calls_of<compute_law_registry>()}},
       .make = [](const Options& options,
                  std::uint64_t seed) -> std::unique_ptr<ComputeLaw> {
         return std::make_unique<StragglersLaw>(
             option<double>(options, "share"),
             option<double>(options, "factor"),
             // Another seed, or the slow steps would be those of one end of the
             // usual law.
             make_compute_law(option<std::string>(options, "of"), seed + 1),
             seed);
       }});
}

}  // namespace weft
