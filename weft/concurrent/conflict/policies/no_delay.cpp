// Somebody dies at once, as in the hardware that was built.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class NoDelay final : public ConflictPolicy {
 public:
  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    return {.delay_ns = 0, .after = after_delay(protocol_of(conflict))};
  }
};

}  // namespace

void register_conflict_policy_no_delay(ConflictPolicyRegistry& registry) {
  registry.add({.name = "no-delay",
                .summary = "abort at once",
                .make = [](const Options&) -> std::unique_ptr<ConflictPolicy> {
                  return std::make_unique<NoDelay>();
                }});
}

}  // namespace weft
