// A rate that stays.
#include "weft/optim/schedule.h"

namespace weft {

void register_schedule_constant(ScheduleRegistry& schedules) {
  schedules.add({.name = "constant",
                 .summary = "the first rate throughout",
                 .rate = [](double from, const Options&, const SchedulePoint&) {
                   return from;
                 }});
}

}  // namespace weft
