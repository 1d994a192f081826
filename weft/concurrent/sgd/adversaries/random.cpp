// Any thread takes the next step, some more often than others if asked.
#include "weft/concurrent/random.h"

#include <cmath>

#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class RandomSteps final : public Adversary {
 public:
  RandomSteps(double skew, std::uint64_t seed)
      : skew_(skew), random_(seed, 0) {}

  int pick(const ScheduleState& state) override {
    double sum = 0;
    for (int thread = 0; thread < state.size(); ++thread)
      sum += weight(state, thread);
    double left = sum * random_.unit();
    int last = -1;
    for (int thread = 0; thread < state.size(); ++thread) {
      if (!state.can_run(thread)) continue;
      last = thread;
      left -= weight(state, thread);
      if (left < 0) break;
    }
    return last;
  }

 private:
  double weight(const ScheduleState& state, int thread) const {
    return state.can_run(thread) ? std::pow(thread + 1, -skew_) : 0;
  }

  double skew_;
  FastRandom random_;
};

}  // namespace

void register_adversary_random(AdversaryRegistry& registry) {
  registry.add(
      {.name = "random",
       .summary = "any thread takes the next step",
       .options = {{.name = "skew",
                    .value = 0.0,
                    .summary = "thread i goes as often as i to the power of "
                               "-skew, from 1",
                    .range = {.least = 0, .most = 100}}},
       .make = [](const Options& options,
                  std::uint64_t seed) -> std::unique_ptr<Adversary> {
         return std::make_unique<RandomSteps>(option<double>(options, "skew"),
                                              seed);
       }});
}

}  // namespace weft
