// The older goes first; the younger has some patience, then gives up:
// "Timestamp" of Scherer and Scott, "Advanced contention management for dynamic
// software transactional memory", PODC 2005.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Timestamp final : public ConflictPolicy {
 public:
  explicit Timestamp(double patience_ns) : patience_ns_(patience_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    stakes_of(conflict, Protocol::kRequestorAborts, 0);  // checks
    const bool is_older = conflict.self_cost_ns > conflict.owner_cost_ns;
    if (is_older && conflict.can_kill_owner)
      return {.delay_ns = 0, .after = AfterDelay::kKillOwner};
    return {.delay_ns = patience_ns_, .after = AfterDelay::kAbortSelf};
  }

 private:
  double patience_ns_;
};

}  // namespace

void register_conflict_policy_timestamp(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "timestamp",
       .summary = "the older goes first",
       .options = {{.name = "patience_ns",
                    .value = 10000.0,
                    .summary = "for which the younger waits"}},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Timestamp>(
             time_option(options, "patience_ns"));
       }});
}

}  // namespace weft
