#include "weft/concurrent/sgd/adversary.h"

namespace weft::concurrent {

int HoldingAdversary::pick(const ScheduleState& state) {
  const int thread = turns_.next(state, [&](int each) {
    const ScheduledThread& held = state.threads[static_cast<std::size_t>(each)];
    return !held.is_before_add() || state.ended - held.computed_at >= delay_ ||
           !holds(state, each);
  });
  if (thread >= 0) return thread;
  int oldest = -1;
  for (int each = 0; each < state.size(); ++each) {
    if (!state.can_run(each)) continue;
    if (oldest < 0 ||
        state.threads[static_cast<std::size_t>(each)].computed_at <
            state.threads[static_cast<std::size_t>(oldest)].computed_at)
      oldest = each;
  }
  return oldest;
}

std::unique_ptr<Adversary> make_adversary(std::string_view name,
                                          const Options& options,
                                          std::uint64_t seed) {
  const AdversaryDef& def = adversary_registry().get(name);
  return def.make(complete(def.options, options, def.name), seed);
}

OptionSpec delay_option() {
  return {.name = "delay",
          .value = std::int64_t{100},
          .summary = "of others that end while a gradient is held back",
          .range = {.least = 0, .most = 1e15},
          .unit = "iterations"};
}

std::uint64_t delay_of(const Options& options) {
  return static_cast<std::uint64_t>(option<std::int64_t>(options, "delay"));
}

}  // namespace weft::concurrent
