// The lower bound's adversary: some threads compute their gradients and are
// frozen before they add them; when others have done so many iterations, what
// is stale lands, and the next gradients are computed at where that led.
#include <algorithm>

#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class Freeze final : public Adversary {
 public:
  Freeze(std::int64_t frozen, std::uint64_t delay, bool repeats)
      : frozen_(frozen), delay_(delay), repeats_(repeats) {}

  int pick(const ScheduleState& state) override {
    if (is_over_) return others_.next(state);
    const int victims =
        static_cast<int>(std::min<std::int64_t>(frozen_, state.size()));
    if (lands_) {
      const int landing = first(state, victims, [&](int thread) {
        return of(state, thread).phase == SgdPhase::kAdd;
      });
      if (landing >= 0) return landing;
      lands_ = false;
      is_over_ = !repeats_;
      if (is_over_) return others_.next(state);
    }
    // Those that are not frozen yet come first.
    const int computing = first(state, victims, [&](int thread) {
      return !of(state, thread).is_before_add();
    });
    if (computing >= 0) {
      frozen_at_ = state.ended;
      return computing;
    }
    if (state.ended - frozen_at_ < delay_) {
      const int other =
          others_.next(state, [&](int thread) { return thread >= victims; });
      if (other >= 0) return other;
    }
    lands_ = true;
    const int landing = first(state, victims, [](int) { return true; });
    return landing >= 0 ? landing : others_.next(state);
  }

 private:
  static const ScheduledThread& of(const ScheduleState& state, int thread) {
    return state.threads[static_cast<std::size_t>(thread)];
  }

  // The first of the victims that can run and is so; -1 for none.
  template <class IsSo>
  static int first(const ScheduleState& state, int victims, const IsSo& is_so) {
    for (int thread = 0; thread < victims; ++thread)
      if (state.can_run(thread) && is_so(thread)) return thread;
    return -1;
  }

  std::int64_t frozen_;
  std::uint64_t delay_;
  bool repeats_;
  bool lands_ = false;
  bool is_over_ = false;
  std::uint64_t frozen_at_ = 0;
  Turns others_;
};

}  // namespace

void register_adversary_freeze(AdversaryRegistry& registry) {
  registry.add(
      {.name = "freeze",
       .summary = "some threads are frozen between computing and adding",
       .options = {delay_option(),
                   {.name = "threads",
                    .value = std::int64_t{1},
                    .summary = "that are frozen, the first of all",
                    .range = {.least = 1, .most = 1 << 20}},
                   {.name = "repeat",
                    .value = true,
                    .summary = "freeze them again with their next gradients"}},
       .make = [](const Options& options,
                  std::uint64_t) -> std::unique_ptr<Adversary> {
         return std::make_unique<Freeze>(
             option<std::int64_t>(options, "threads"), delay_of(options),
             option<bool>(options, "repeat"));
       }});
}

}  // namespace weft
