// A share for each claim that asks of the block (DPF-N of Luo et al., OSDI
// 2021): the first `count` claims could each have one.
#include <algorithm>

#include "weft/privacy/unlocking.h"

namespace weft {

void register_unlocking_claims(privacy::UnlockingRegistry& rules) {
  rules.add({.name = "claims",
             .summary = "a share for each claim that asks of the block",
             .options = {{"count",
                          std::int64_t{100},
                          "claims after which all is unlocked",
                          {.least = 1}}},
             .share = [](const Options& options, const privacy::BlockAge& age) {
               const auto count =
                   static_cast<double>(option<std::int64_t>(options, "count"));
               return std::min(1.0, static_cast<double>(age.claims) / count);
             }});
}

}  // namespace weft
