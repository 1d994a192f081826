#include "weft/concurrent/conflict/policy_registry.h"

#include <algorithm>
#include <cmath>

namespace weft::concurrent {

std::unique_ptr<ConflictPolicy> make_conflict_policy(std::string_view name,
                                                     const Options& options) {
  const ConflictPolicyDef& def = conflict_policy_registry().get(name);
  return def.make(complete(def.options, options, def.name));
}

OptionSpec cleanup_option() {
  return {.name = "cleanup_ns",
          .value = 0.0,
          .summary = "what an abort costs beyond the work that it loses"};
}

double time_option(const Options& options, std::string_view name) {
  const double value = option<double>(options, name);
  // The comparison is written so that NaN is refused too.
  if (!(value >= 0) || std::isinf(value))
    throw Error(ErrorCode::kInvalidArgument, "conflict policy",
                "{} is {}, and must be 0 or more", name, value);
  return value;
}

Stakes stakes_of(const ConflictInfo& conflict, Protocol protocol,
                 double cleanup_ns) {
  // An abort loses the work of the one that dies, and the protocol says who.
  const double cost = protocol == Protocol::kRequestorWins
                          ? conflict.owner_cost_ns
                          : conflict.self_cost_ns;
  const Stakes stakes{
      .protocol = protocol,
      // The cost doubles with each abort that was suffered, so that whoever is
      // aborted again and again is waited for at last.
      .abort_cost = std::ldexp(cost + cleanup_ns,
                               std::clamp(conflict.aborts, 0, kMostDoublings)),
      .chain = conflict.chain};
  stakes.check();
  return stakes;
}

Protocol protocol_of(const ConflictInfo& conflict) {
  return conflict.can_kill_owner ? Protocol::kRequestorWins
                                 : Protocol::kRequestorAborts;
}

AfterDelay after_delay(Protocol protocol) {
  return protocol == Protocol::kRequestorWins ? AfterDelay::kKillOwner
                                              : AfterDelay::kAbortSelf;
}

}  // namespace weft::concurrent
