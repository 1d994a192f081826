#include "weft/optim/schedule.h"

#include <algorithm>

#include "weft/base/call_reader.h"

namespace weft {

double Schedule::at(std::int64_t step, std::int64_t steps,
                    std::int64_t steps_per_epoch) const {
  const auto from = option<double>(options, "from");
  const auto warmup = option<std::int64_t>(options, "warmup");
  if (step < warmup) {
    // The first step already moves, and the last one of the warm-up has the
    // whole rate.
    return from * static_cast<double>(step + 1) / static_cast<double>(warmup);
  }
  // The last step of a run stands at progress 1.
  const auto span =
      static_cast<double>(std::max<std::int64_t>(steps - warmup - 1, 1));
  return schedule_registry().get(name).rate(
      from, options,
      {.step = step,
       .epoch = step / std::max<std::int64_t>(steps_per_epoch, 1),
       .progress = std::min(static_cast<double>(step - warmup) / span, 1.0),
       .warmup = warmup});
}

std::vector<OptionSpec> schedule_options(const ScheduleDef& def, double from) {
  std::vector<OptionSpec> schema{
      {"from", from, "the first rate", {.least = 0, .is_open_below = true}}};
  schema.insert(schema.end(), def.options.begin(), def.options.end());
  schema.push_back({"warmup",
                    std::int64_t{0},
                    "in which the rate climbs to the first",
                    {.least = 0},
                    {},
                    "steps"});
  return schema;
}

Schedule constant_rate(double rate) {
  Schedule schedule;
  schedule.options["from"] = rate;
  return schedule;
}

Schedule parse_schedule(std::string_view text, double from) {
  CallReader reader(text, "schedule");
  const std::size_t place = reader.place();
  const std::string_view name = reader.take_name("a schedule");
  const ScheduleDef& def = reader.at(place, [&]() -> const ScheduleDef& {
    return schedule_registry().get(name);
  });
  Schedule schedule;
  schedule.name = def.name;
  schedule.options = reader.take_options(def.name, schedule_options(def, from));
  reader.expect_end();
  return schedule;
}

std::string to_string(const Schedule& schedule) {
  const ScheduleDef& def = schedule_registry().get(schedule.name);
  return call_text(def.name, schedule_options(def, 0), schedule.options);
}

}  // namespace weft
