#include "weft/optim/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "weft/base/error.h"

namespace weft {

double Schedule::at(std::int64_t step, std::int64_t steps,
                    std::int64_t steps_per_epoch) const {
  if (step < warmup) {
    // The first step already moves, and the last one of the warm-up has the
    // whole rate.
    return from * static_cast<double>(step + 1) / static_cast<double>(warmup);
  }
  // The last step of a run stands at progress 1.
  const auto span =
      static_cast<double>(std::max<std::int64_t>(steps - warmup - 1, 1));
  const double progress =
      std::min(static_cast<double>(step - warmup) / span, 1.0);
  switch (kind) {
    case Kind::kStep: {
      const std::int64_t epoch =
          step / std::max<std::int64_t>(steps_per_epoch, 1);
      const auto drops = epoch / std::max<std::int64_t>(every, 1);
      return from * std::pow(factor, static_cast<double>(drops));
    }
    case Kind::kLinear:
      return from + (to - from) * progress;
    case Kind::kCosine:
      return to + (from - to) * (1 + std::cos(std::numbers::pi * progress)) / 2;
    case Kind::kConstant:
      break;
  }
  return from;
}

Schedule::Kind schedule_kind(const std::string& name) {
  if (name == "constant") return Schedule::Kind::kConstant;
  if (name == "step") return Schedule::Kind::kStep;
  if (name == "linear") return Schedule::Kind::kLinear;
  if (name == "cosine") return Schedule::Kind::kCosine;
  const std::string near =
      nearest(name, {"constant", "step", "linear", "cosine"});
  throw Error(ErrorCode::kInvalidArgument, "schedule", "no schedule '{}'{}",
              name,
              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near))
      .detail("schedules: constant, step, linear, cosine");
}

}  // namespace weft
