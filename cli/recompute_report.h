// What a plan computes again to keep within a memory, for people.
#pragma once

#include "weft/compiler/recompute_report.h"

namespace weft::cli {

void print_recompute_report(const RecomputeReport& report);

}  // namespace weft::cli
