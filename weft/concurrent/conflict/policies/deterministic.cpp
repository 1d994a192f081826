// As long as an abort would cost all that wait: the best fixed rule.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Deterministic final : public ConflictPolicy {
 public:
  explicit Deterministic(double cleanup_ns) : cleanup_ns_(cleanup_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    // Waiting this long costs those who wait as much as an abort would, so the
    // sum is at most twice the least, or 2 + 1/(k - 1) times where the owner's
    // time is lost too.
    const Stakes stakes =
        stakes_of(conflict, protocol_of(conflict), cleanup_ns_);
    return {.delay_ns = stakes.longest_delay(),
            .after = after_delay(stakes.protocol)};
  }

 private:
  double cleanup_ns_;
};

}  // namespace

void register_conflict_policy_deterministic(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "deterministic",
       .summary = "wait for B / (k - 1)",
       .options = {cleanup_option()},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Deterministic>(
             time_option(options, "cleanup_ns"));
       }});
}

}  // namespace weft
