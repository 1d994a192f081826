// The same delay for all conflicts: what one tunes by hand.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Fixed final : public ConflictPolicy {
 public:
  explicit Fixed(double delay_ns) : delay_ns_(delay_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    // Nothing of the conflict is weighed: it is the yardstick for policies that
    // do.
    return {.delay_ns = delay_ns_, .after = after_delay(protocol_of(conflict))};
  }

 private:
  double delay_ns_;
};

}  // namespace

void register_conflict_policy_fixed(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "fixed",
       .summary = "wait for delay_ns",
       .options = {{.name = "delay_ns",
                    .value = 1000.0,
                    .summary = "the delay"}},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Fixed>(time_option(options, "delay_ns"));
       }});
}

}  // namespace weft
