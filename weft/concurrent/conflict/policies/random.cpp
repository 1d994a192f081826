// The delay follows the law that is best against any remaining time.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Random final : public ConflictPolicy {
 public:
  explicit Random(double cleanup_ns) : cleanup_ns_(cleanup_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& random) const override {
    const Stakes stakes =
        stakes_of(conflict, protocol_of(conflict), cleanup_ns_);
    // A known mean is passed over on purpose: this law's bound holds for every
    // remaining time, whatever the load is.
    return {.delay_ns = DelayLaw::worst_case(stakes).sample(random),
            .after = after_delay(stakes.protocol)};
  }

 private:
  double cleanup_ns_;
};

}  // namespace

void register_conflict_policy_random(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "random",
       .summary = "wait at random, for the least worst case",
       .options = {cleanup_option()},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Random>(time_option(options, "cleanup_ns"));
       }});
}

}  // namespace weft
