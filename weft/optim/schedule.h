// The learning rate over a run, computed on the host once per step.
//
// It is written "cosine(from=0.1, to=0.001, warmup=200)" (base/call_reader.h).
// All schedules have `from`, the rate that they begin with, and `warmup`: so
// many steps climb linearly to it before anything else.
//
// A new schedule is one file in weft/optim/schedules.
//
// Threads: value types; immutable registry.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/registry.h"

namespace weft {

// Where a run stands, behind its warm-up.
struct SchedulePoint {
  std::int64_t step = 0;   // from 0, those of the warm-up included
  std::int64_t epoch = 0;  // from 0
  double progress = 0;     // from 0 to 1, which the last step of the run has
  std::int64_t warmup = 0;
};

struct ScheduleDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};  // beside those that all have
  // The rate, `from` being the first.
  double (*rate)(double from, const Options& options,
                 const SchedulePoint& point) = nullptr;
};

using ScheduleRegistry = Registry<ScheduleDef>;
// It is filled from the files of weft/optim/schedules.
const ScheduleRegistry& schedule_registry();

struct Schedule {
  std::string name = "constant";
  // Complete: `from`, `warmup` and what the schedule declares.
  Options options = {{"from", 0.01}, {"warmup", std::int64_t{0}}};

  // The rate for step `step` of `steps`, counted from 0.
  double at(std::int64_t step, std::int64_t steps,
            std::int64_t steps_per_epoch) const;

  bool operator==(const Schedule&) const = default;
};

// All options of a schedule, with `from` as the default of the first rate.
std::vector<OptionSpec> schedule_options(const ScheduleDef& def, double from);

// A rate that stays.
Schedule constant_rate(double rate);
// Reads the text form; `from` is the first rate where it says none. Throws
// Error(kInvalidArgument) with a caret under the place.
Schedule parse_schedule(std::string_view text, double from);
// Canonical.
std::string to_string(const Schedule& schedule);

}  // namespace weft
