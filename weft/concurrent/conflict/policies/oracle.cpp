// The best that could be done if the owner's remaining time were known. It
// serves simulations, which give the true time where other policies are given
// its mean.
#include "weft/concurrent/conflict/policy_registry.h"

namespace weft {
namespace {

using namespace concurrent;

class Oracle final : public ConflictPolicy {
 public:
  explicit Oracle(double cleanup_ns) : cleanup_ns_(cleanup_ns) {}

  Decision decide(const ConflictInfo& conflict,
                  FastRandom& /*random*/) const override {
    const Stakes stakes =
        stakes_of(conflict, protocol_of(conflict), cleanup_ns_);
    const double remaining = conflict.mean_remaining_ns;
    if (!(remaining >= 0))
      throw Error(ErrorCode::kInvalidArgument, "oracle",
                  "the remaining time is not known")
          .hint("only a simulation can use this policy");
    // Either the owner's end is worth waiting for, or any wait at all is lost.
    return {.delay_ns = remaining <= stakes.longest_delay() ? remaining : 0,
            .after = after_delay(stakes.protocol)};
  }

 private:
  double cleanup_ns_;
};

}  // namespace

void register_conflict_policy_oracle(ConflictPolicyRegistry& registry) {
  registry.add(
      {.name = "oracle",
       .summary = "wait if that is cheaper; knows the remaining time",
       .options = {cleanup_option()},
       .make = [](const Options& options) -> std::unique_ptr<ConflictPolicy> {
         return std::make_unique<Oracle>(time_option(options, "cleanup_ns"));
       }});
}

}  // namespace weft
