// Ranks that are threads of one process (comm/transport/thread.h).
#include "weft/base/ranges.h"
#include "weft/comm/transport/transport_def.h"

namespace weft {
namespace {

std::unique_ptr<LocalRanks> open_threads(const Options& options, const Say&) {
  return thread_ranks(static_cast<int>(option<std::int64_t>(options, "ranks")));
}

}  // namespace

void register_transport_thread(TransportRegistry& transports) {
  transports.add({.name = "thread",
                  .summary = "ranks are threads of this process",
                  .trust = "Trusts its own process, which nothing leaves.",
                  .options = {{.name = "ranks",
                               .value = std::int64_t{2},
                               .summary = "of all",
                               .range = {.least = 1, .most = 1024}}},
                  .is_one_process = true,
                  .open = open_threads,
                  .sample = [](int ranks) { return thread_ranks(ranks); }});
}

}  // namespace weft
