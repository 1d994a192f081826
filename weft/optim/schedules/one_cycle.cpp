// Up to the largest rate and down again, below the first (Smith and Topin,
// "Super-convergence", 2018): `from` is the largest.
#include <cmath>
#include <numbers>

#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_one_cycle(ScheduleRegistry& schedules) {
  schedules.add(
      {.name = "one-cycle",
       .summary = "up to the rate and down again in one cycle",
       .options =
           {{"rise",
             0.3,
             "share of the run in which the rate climbs",
             {.least = 0, .most = 1, .is_open_above = true}},
            {"first", 25.0, "the largest rate over the first", {.least = 1}},
            {"last", 1e4, "the largest rate over the last", {.least = 1}}},
       .rate = [](double from, const Options& options,
                  const SchedulePoint& point) {
         const auto rise = option<double>(options, "rise");
         const bool climbs = point.progress < rise;
         const double low =
             from / option<double>(options, climbs ? "first" : "last");
         // It goes from 1 at the top to 0 at either end.
         const double height =
             climbs ? point.progress / rise : (1 - point.progress) / (1 - rise);
         const double angle = std::numbers::pi * (1 - height);
         return low + (from - low) * (1 + std::cos(angle)) / 2;
       }});
}

}  // namespace weft
