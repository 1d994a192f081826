// Wait at random for up to twice as long each time, then take it: "Polite" of
// Herlihy, Luchangco, Moir, Scherer, "Software transactional memory for
// dynamic-sized data structures", PODC 2003.
#include <algorithm>
#include <cmath>

#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Backoff final : public ConflictPolicy {
 public:
  explicit Backoff(double first_ns) : first_ns_(first_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& random) const override {
    const double longest =
        std::ldexp(first_ns_, std::clamp(conflict.aborts, 0, kMostDoublings));
    return {.delay_ns = longest * random.unit(),
            .after = after_delay(protocol_of(conflict))};
  }

 private:
  double first_ns_;
};

}  // namespace

void register_conflict_policy_backoff(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "backoff",
       .summary = "wait at random, for twice as long after each abort",
       .options = {{.name = "first_ns",
                    .value = 1000.0,
                    .summary = "the longest delay at first"}},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Backoff>(time_option(options, "first_ns"));
       }});
}

}  // namespace weft
