// A rate that falls by a factor every so many epochs.
#include <cmath>

#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_step(ScheduleRegistry& schedules) {
  schedules.add({.name = "step",
                 .summary = "falls by a factor every so many epochs",
                 .options = {{"factor",
                              0.1,
                              "that the rate is multiplied by",
                              {.least = 0, .is_open_below = true}},
                             {"every",
                              std::int64_t{10},
                              "after which it falls",
                              {.least = 1},
                              {},
                              "epochs"}},
                 .rate = [](double from, const Options& options,
                            const SchedulePoint& point) {
                   const auto drops =
                       point.epoch / option<std::int64_t>(options, "every");
                   return from * std::pow(option<double>(options, "factor"),
                                          static_cast<double>(drops));
                 }});
}

}  // namespace weft
