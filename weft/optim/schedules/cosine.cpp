// Half a cosine from the first rate to the last (Loshchilov and Hutter, "SGDR",
// 2017, eq. 5).
#include <cmath>
#include <numbers>

#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_cosine(ScheduleRegistry& schedules) {
  schedules.add({.name = "cosine",
                 .summary = "half a cosine from the first rate to the last",
                 .options = {{"to", 0.0, "the last rate", {.least = 0}}},
                 .rate = [](double from, const Options& options,
                            const SchedulePoint& point) {
                   const auto to = option<double>(options, "to");
                   const double angle = std::numbers::pi * point.progress;
                   return to + (from - to) * (1 + std::cos(angle)) / 2;
                 }});
}

}  // namespace weft
