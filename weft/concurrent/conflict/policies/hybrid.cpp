// Whoever costs less dies: the owner, or the one that waits. Each has its law,
// and the law's ratio times the abort cost bounds what it loses.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Hybrid final : public ConflictPolicy {
 public:
  explicit Hybrid(double cleanup_ns) : cleanup_ns_(cleanup_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& random) const override {
    // The requestor may always die; the owner only where the conflict says so.
    DelayLaw law = law_of(conflict, Protocol::kRequestorAborts);
    if (conflict.can_kill_owner) {
      const DelayLaw wins = law_of(conflict, Protocol::kRequestorWins);
      if (bound(wins, conflict) < bound(law, conflict)) law = wins;
    }
    return {.delay_ns = law.sample(random),
            .after = after_delay(law.stakes().protocol)};
  }

 private:
  DelayLaw law_of(const ConflictInfo& conflict, Protocol protocol) const {
    return DelayLaw::best(stakes_of(conflict, protocol, cleanup_ns_),
                          conflict.mean_remaining_ns);
  }
  static double bound(const DelayLaw& law, const ConflictInfo& conflict) {
    return law.ratio(conflict.mean_remaining_ns) * law.stakes().abort_cost;
  }

  double cleanup_ns_;
};

}  // namespace

void register_conflict_policy_hybrid(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "hybrid",
       .summary = "let the one die whose death costs less",
       .options = {cleanup_option()},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Hybrid>(time_option(options, "cleanup_ns"));
       }});
}

}  // namespace weft
