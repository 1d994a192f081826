// A power of what is left of the run, as detectors and segmenters are trained
// (Liu, Rabinovich and Berg, "ParseNet", 2015).
#include <cmath>

#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_polynomial(ScheduleRegistry& schedules) {
  schedules.add({.name = "polynomial",
                 .summary = "a power of what is left of the run",
                 .options = {{"to", 0.0, "the last rate", {.least = 0}},
                             {"power", 0.9, "of what is left", {.least = 0}}},
                 .rate = [](double from, const Options& options,
                            const SchedulePoint& point) {
                   const auto to = option<double>(options, "to");
                   const auto power = option<double>(options, "power");
                   return to +
                          (from - to) * std::pow(1 - point.progress, power);
                 }});
}

}  // namespace weft
