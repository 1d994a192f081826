// The option that robust rules have in common: how many of n workers may be
// wrong; and the refusals of numbers with which they prove nothing.
//
// Threads: pure functions.
#pragma once

#include <optional>

#include "weft/base/option_schema.h"
#include "weft/base/refusal.h"

namespace weft {

// "f".
OptionSpec wrong_workers_option();

// For rules that need n >= factor * f + 3.
std::optional<Refusal> needs_workers(const Options& options, int workers,
                                     int factor);
// For those that need n >= 2 f + 1.
std::optional<Refusal> needs_majority(const Options& options, int workers);

}  // namespace weft
