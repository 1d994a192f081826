// Ranges that many options have.
#pragma once

#include "weft/base/option_schema.h"

namespace weft {

inline constexpr NumberRange kPositive{.least = 0, .is_open_below = true};
inline constexpr NumberRange kNotNegative{.least = 0};
// A count of what there must be some of.
inline constexpr NumberRange kAtLeastOne{.least = 1};
// Shares and decays, whose whole would leave nothing.
inline constexpr NumberRange kBelowOne{
    .least = 0, .most = 1, .is_open_above = true};
// Probabilities of what may be and may not.
inline constexpr NumberRange kInside{
    .least = 0, .most = 1, .is_open_below = true, .is_open_above = true};

}  // namespace weft
