// Threads take steps in turn.
#include "weft/concurrent/sgd/adversary.h"

namespace weft {
namespace {

using namespace concurrent;

class RoundRobin final : public Adversary {
 public:
  int pick(const ScheduleState& state) override { return turns_.next(state); }

 private:
  Turns turns_;
};

}  // namespace

void register_adversary_round_robin(AdversaryRegistry& registry) {
  registry.add(
      {.name = "round_robin",
       .summary = "threads take steps in turn",
       .make = [](const Options&, std::uint64_t) -> std::unique_ptr<Adversary> {
         return std::make_unique<RoundRobin>();
       }});
}

}  // namespace weft
