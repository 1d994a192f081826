#include "weft/train/sync/byzantine_bounds.h"

#include "weft/base/ranges.h"

namespace weft {

std::vector<OptionSpec> ByzantineBounds::options() {
  return {{.name = "alpha",
           .value = 0.25,
           .summary = "of the workers that may be wrong, at most",
           .range = {.least = 0, .most = 0.5, .is_open_above = true},
           .unit = "share"},
          {"v", 1.0, "a gradient's greatest distance from its mean", kPositive},
          {"d", 10.0, "the parameters' greatest distance from the first",
           kPositive},
          {.name = "horizon",
           .value = std::int64_t{1000},
           .summary = "that are trained; of the first phase with restarts",
           .range = {.least = 1, .most = 1e12},
           .unit = "steps"},
          {.name = "delta",
           .value = 0.05,
           .summary = "the chance that a right worker is dropped",
           .range = kInside},
          {"calibration", 1.0,
           "what thresholds of sums are times: theory's are far above what "
           "right workers reach",
           kPositive},
          {"restarts", false,
           "begin anew from the average with d / 2 and 4 horizon, again and "
           "again: with wrap = [\"restart(…)\"]"}};
}

}  // namespace weft
