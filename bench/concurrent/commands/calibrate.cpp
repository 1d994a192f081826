// weft-concurrent-bench calibrate: what accesses to shared memory cost on this
// machine now, for simulated-transactions --costs.
#include "weft/concurrent/coherence/calibrate.h"

#include <fmt/core.h>

#include "bench/concurrent/command.h"
#include "bench/concurrent/costs.h"

namespace weft {

void register_concurrent_calibrate(ConcurrentCommandRegistry& registry) {
  registry.add({"calibrate", [](const bench::WorkerOptions& /*options*/) {
                  fmt::print(
                      "{}\n",
                      bench::json_of(concurrent::calibrate().costs).dump());
                }});
}

}  // namespace weft
