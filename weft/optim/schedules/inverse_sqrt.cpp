// One over the square root of the step, behind the warm-up (Vaswani et al.,
// "Attention is all you need", 2017, eq. 3).
#include <algorithm>
#include <cmath>

#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_inverse_sqrt(ScheduleRegistry& schedules) {
  schedules.add(
      {.name = "inverse-sqrt",
       .summary = "one over the square root of the step",
       .rate = [](double from, const Options&, const SchedulePoint& point) {
         // Without a warm-up the first step has the first rate.
         const auto first =
             static_cast<double>(std::max<std::int64_t>(point.warmup, 1));
         return from * std::sqrt(first / (static_cast<double>(point.step) + 1));
       }});
}

}  // namespace weft
