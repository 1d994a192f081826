// Takes the step after which x is furthest from the optimum: gradients that
// help wait until nothing else can be done.
#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class Greedy final : public Adversary {
 public:
  int pick(const ScheduleState& state) override {
    int best = -1;
    double most = 0;
    for (int i = 0; i < state.size(); ++i) {
      // Among equals they take turns.
      const int thread = (last_ + 1 + i) % state.size();
      if (!state.can_run(thread)) continue;
      const double gained = gain(state, thread);
      // Where x diverges, all of them may gain less than any number, or none.
      if (best < 0 || gained > most) {
        most = gained;
        best = thread;
      }
    }
    last_ = best;
    return best;
  }

 private:
  // How much its next step changes |x - x*|^2.
  static double gain(const ScheduleState& state, int thread) {
    const ScheduledThread& next =
        state.threads[static_cast<std::size_t>(thread)];
    if (next.phase != SgdPhase::kAdd) return 0;
    double sum = 0;
    for (std::size_t k = next.next;
         k < next.changes.size() && k < next.next + state.block; ++k) {
      const std::size_t j = next.entry(k);
      sum += next.changes[k] *
             (2 * (next.x[j] - state.optimum[j]) + next.changes[k]);
    }
    return sum;
  }

  int last_ = -1;
};

}  // namespace

void register_adversary_greedy(AdversaryRegistry& registry) {
  registry.add(
      {.name = "greedy",
       .summary = "takes the step after which x is furthest from the optimum",
       .make = [](const Options&, std::uint64_t) -> std::unique_ptr<Adversary> {
         return std::make_unique<Greedy>();
       }});
}

}  // namespace weft
