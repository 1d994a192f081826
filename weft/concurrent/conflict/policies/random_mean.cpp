// The delay follows the law that is best for the mean remaining time, where
// that is known and small, and the one for any time elsewhere.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class RandomMean final : public ConflictPolicy {
 public:
  explicit RandomMean(double cleanup_ns) : cleanup_ns_(cleanup_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& random) const override {
    const Stakes stakes =
        stakes_of(conflict, protocol_of(conflict), cleanup_ns_);
    const DelayLaw law = DelayLaw::best(stakes, conflict.mean_remaining_ns);
    return {.delay_ns = law.sample(random),
            .after = after_delay(stakes.protocol)};
  }

 private:
  double cleanup_ns_;
};

}  // namespace

void register_conflict_policy_random_mean(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "random-mean",
       .summary = "wait at random, knowing the mean",
       .options = {cleanup_option()},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<RandomMean>(
             time_option(options, "cleanup_ns"));
       }});
}

}  // namespace weft
