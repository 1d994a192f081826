// Holds back all gradients that would reach one entry.
#include <algorithm>

#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class Target final : public HoldingAdversary {
 public:
  Target(std::uint64_t delay, std::size_t entry)
      : HoldingAdversary(delay), entry_(entry) {}

 protected:
  bool holds(const ScheduleState& state, int thread) override {
    const ScheduledThread& held =
        state.threads[static_cast<std::size_t>(thread)];
    for (std::size_t k = 0; k < held.changes.size(); ++k)
      if (held.entry(k) == entry_) return held.changes[k] != 0;
    return false;
  }

 private:
  std::size_t entry_;
};

}  // namespace

void register_adversary_target(AdversaryRegistry& registry) {
  registry.add(
      {.name = "target",
       .summary = "gradients that reach one entry are held back",
       .options = {delay_option(),
                   {.name = "entry",
                    .value = std::int64_t{0},
                    .summary = "which one, from 0",
                    .range = {.least = 0, .most = 4294967295.0}}},
       .make = [](const Options& options,
                  std::uint64_t) -> std::unique_ptr<Adversary> {
         return std::make_unique<Target>(
             delay_of(options),
             static_cast<std::size_t>(option<std::int64_t>(options, "entry")));
       }});
}

}  // namespace weft
