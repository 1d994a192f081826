#include "weft/privacy/streaming_settings.h"

namespace weft::privacy {

std::vector<OptionSpec> streaming_options(const StreamingSettings& settings) {
  return {{"first_blocks",
           settings.first_blocks,
           "that are there at the beginning",
           {.least = 1}},
          {"more_blocks",
           settings.more_blocks,
           "that arrive, one in a unit of time",
           {.least = 0}},
          {"lifetime",
           30.0,
           "over which a block's budget is unlocked",
           {.least = 0, .is_open_below = true}},
          {"steps", std::int64_t{1000}, "in which it is", {.least = 1}},
          {"every",
           10.0,
           "units of time what waits is scheduled",
           {.least = 0, .is_open_below = true}}};
}

Workload streaming_workload(const Options& options) {
  return {.first_blocks = static_cast<std::size_t>(
              option<std::int64_t>(options, "first_blocks")),
          .more_blocks = static_cast<std::size_t>(
              option<std::int64_t>(options, "more_blocks")),
          .every = option<double>(options, "every"),
          .unlocking = fmt::format("time(lifetime={}, steps={})",
                                   option<double>(options, "lifetime"),
                                   option<std::int64_t>(options, "steps")),
          .tasks = {}};
}

double streaming_time(const Options& options) {
  return static_cast<double>(option<std::int64_t>(options, "more_blocks")) + 1;
}

}  // namespace weft::privacy
