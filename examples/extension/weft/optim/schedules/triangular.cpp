// Up and down in straight lines, again and again (Smith, "Cyclical learning
// rates for training neural networks", WACV 2017, section 3.2).
#include <cmath>

#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_triangular(ScheduleRegistry& schedules) {
  schedules.add(
      {.name = "triangular",
       .summary = "to another rate and back, again and again",
       .options = {{"to",
                    0.1,
                    "the rate at the turn",
                    {.least = 0, .is_open_below = true}},
                   {"half",
                    std::int64_t{1000},
                    "of a cycle",
                    {.least = 1},
                    {},
                    "steps"}},
       .rate = [](double from, const Options& options,
                  const SchedulePoint& point) {
         const auto half = option<std::int64_t>(options, "half");
         const std::int64_t within = (point.step - point.warmup) % (2 * half);
         const auto away = static_cast<double>(std::abs(within - half));
         const double turned = 1 - away / static_cast<double>(half);
         return from + (option<double>(options, "to") - from) * turned;
       }});
}

}  // namespace weft
