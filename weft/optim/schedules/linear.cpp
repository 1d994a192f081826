// The rate goes from the first to the last in a straight line.
#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_linear(ScheduleRegistry& schedules) {
  schedules.add(
      {.name = "linear",
       .summary = "from the first rate to the last in a straight line",
       .options = {{"to", 0.0, "the last rate", {.least = 0}}},
       .rate = [](double from, const Options& options,
                  const SchedulePoint& point) {
         const auto to = option<double>(options, "to");
         return from + (to - from) * point.progress;
       }});
}

}  // namespace weft
