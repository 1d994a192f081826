// Threads of this process whose messages come late, each by a random time: what
// depends on their order shows up here.
#include "weft/base/ranges.h"
#include "weft/comm/transport/transport_def.h"

namespace weft {
namespace {

std::unique_ptr<LocalRanks> late_ranks(std::int64_t ranks, double most) {
  return thread_ranks(static_cast<int>(ranks), {.most_delay = most, .seed = 1});
}

}  // namespace

void register_transport_late(TransportRegistry& transports) {
  transports.add(
      {.name = "late",
       .summary = "threads of this process, with messages that come late",
       .trust = "Trusts its own process, which nothing leaves.",
       .options = {{.name = "ranks",
                    .value = std::int64_t{2},
                    .summary = "of all",
                    .range = kAtLeastOne},
                   {.name = "most",
                    .value = 0.001,
                    .summary = "how late a message may come",
                    .range = {.least = 0},
                    .unit = "seconds"}},
       .is_one_process = true,
       .open =
           [](const Options& options, const Say&) {
             return late_ranks(option<std::int64_t>(options, "ranks"),
                               option<double>(options, "most"));
           },
       .sample = [](int ranks) { return late_ranks(ranks, 1e-4); }});
}

}  // namespace weft
