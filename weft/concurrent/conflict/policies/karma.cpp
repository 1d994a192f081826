// The transaction that has worked for longer goes first. The other one waits
// for the difference and then goes too: "Karma" of Scherer and Scott, "Advanced
// contention management for dynamic software transactional memory", PODC 2005,
// with time in the place of opened objects.
#include <algorithm>

#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Karma final : public ConflictPolicy {
 public:
  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    const Protocol protocol = protocol_of(conflict);
    stakes_of(conflict, protocol, 0);  // checks
    return {.delay_ns =
                std::max(0.0, conflict.owner_cost_ns - conflict.self_cost_ns),
            .after = after_delay(protocol)};
  }
};

}  // namespace

void register_conflict_policy_karma(ConflictPolicyRegistry& registry) {
  registry.add({.name = "karma",
                .summary = "who has worked more goes first",
                .make = [](const Options&) -> std::unique_ptr<ConflictPolicy> {
                  return std::make_unique<Karma>();
                }});
}

}  // namespace weft
