// What an optimization found, for people: what was taken and what it gained,
// what was refused and what it would have cost.
#pragma once

#include <string>

#include "weft/runtime/optimize_report.h"

namespace weft::cli {

void print_optimize_report(const OptimizeReport& report);

// The predicted time after each step, as an SVG.
std::string optimize_picture(const OptimizeReport& report);

}  // namespace weft::cli
