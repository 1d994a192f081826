// Equal steps over a block's lifetime (DPF-T of Luo et al., OSDI 2021).
#include <algorithm>
#include <cmath>

#include "weft/privacy/unlocking.h"

namespace weft {

void register_unlocking_time(privacy::UnlockingRegistry& rules) {
  rules.add({.name = "time",
             .summary = "in equal steps over a block's lifetime",
             .options =
                 {{"lifetime",
                   30.0,
                   "after which all is unlocked; in the time of the blocks",
                   {.least = 0, .is_open_below = true}},
                  {"steps", std::int64_t{1000}, "of equal size", {.least = 1}}},
             .share = [](const Options& options, const privacy::BlockAge& age) {
               const auto steps =
                   static_cast<double>(option<std::int64_t>(options, "steps"));
               const double done = std::floor(
                   age.time * steps / option<double>(options, "lifetime"));
               return std::clamp(done / steps, 0.0, 1.0);
             }});
}

}  // namespace weft
