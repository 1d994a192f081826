// Holds gradients back until they point away from the optimum, and lets them
// land then.
#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class SignAware final : public HoldingAdversary {
 public:
  using HoldingAdversary::HoldingAdversary;

 protected:
  bool holds(const ScheduleState& state, int thread) override {
    const ScheduledThread& held =
        state.threads[static_cast<std::size_t>(thread)];
    double towards = 0;
    for (std::size_t k = 0; k < held.changes.size(); ++k) {
      const std::size_t j = held.entry(k);
      towards += held.changes[k] * (state.optimum[j] - held.x[j]);
    }
    // The one that runs alone must go on, or nothing would ever change.
    return towards >= 0 && thread + 1 < state.size();
  }
};

}  // namespace

void register_adversary_sign_aware(AdversaryRegistry& registry) {
  registry.add({.name = "sign_aware",
                .summary =
                    "gradients of all threads but the last are held back until "
                    "they point away from the optimum",
                .options = {delay_option()},
                .make = [](const Options& options,
                           std::uint64_t) -> std::unique_ptr<Adversary> {
                  return std::make_unique<SignAware>(delay_of(options));
                }});
}

}  // namespace weft
