// The learning rate over a run, computed on the host once per step.
//
//   constant  from
//   step      from × factor^floor(epoch / every), epochs counted from 0
//   linear    from `from` to `to` in a straight line
//   cosine    to + (from - to) (1 + cos(pi × progress)) / 2
//             (Loshchilov and Hutter, "SGDR", 2017, eq. 5)
//
// Before any of them, `warmup` steps climb linearly to `from`.
//
// Threads: a value type.
#pragma once

#include <cstdint>
#include <string>

namespace weft {

struct Schedule {
  enum class Kind { kConstant, kStep, kLinear, kCosine };

  Kind kind = Kind::kConstant;
  double from = 0.01;
  double to = 0;
  double factor = 0.1;      // step
  std::int64_t every = 10;  // step: epochs
  std::int64_t warmup = 0;  // steps

  // The rate for step `step` of `steps`, counted from 0.
  double at(std::int64_t step, std::int64_t steps,
            std::int64_t steps_per_epoch) const;

  bool operator==(const Schedule&) const = default;
};

// "constant", "step", "linear", "cosine". Throws Error(kInvalidArgument) with
// the nearest known name.
Schedule::Kind schedule_kind(const std::string& name);

}  // namespace weft
