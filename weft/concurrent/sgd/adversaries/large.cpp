// Holds back large gradients: those whose squares are above the mean so far, a
// factor times.
#include <vector>

#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class Large final : public HoldingAdversary {
 public:
  Large(std::uint64_t delay, double factor)
      : HoldingAdversary(delay), factor_(factor) {}

 protected:
  bool holds(const ScheduleState& state, int thread) override {
    const ScheduledThread& held =
        state.threads[static_cast<std::size_t>(thread)];
    double squares = 0;
    for (const double change : held.changes) squares += change * change;
    // Each gradient is counted once, when it is seen first.
    seen_.resize(state.threads.size(), kNone);
    std::uint64_t& seen = seen_[static_cast<std::size_t>(thread)];
    if (seen != held.iteration) {
      seen = held.iteration;
      sum_ += squares;
      ++count_;
    }
    return squares > factor_ * sum_ / static_cast<double>(count_);
  }

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  double factor_;
  double sum_ = 0;
  std::uint64_t count_ = 0;
  std::vector<std::uint64_t> seen_;  // the iteration, by thread
};

}  // namespace

void register_adversary_large(AdversaryRegistry& registry) {
  registry.add(
      {.name = "large",
       .summary = "large gradients are held back",
       .options = {delay_option(),
                   {.name = "factor",
                    .value = 1.0,
                    .summary = "of the mean square of all gradients so far, "
                               "above which one is large",
                    .range = {.least = 0, .most = 1e9}}},
       .make = [](const Options& options,
                  std::uint64_t) -> std::unique_ptr<Adversary> {
         return std::make_unique<Large>(delay_of(options),
                                        option<double>(options, "factor"));
       }});
}

}  // namespace weft
