// What a search for a faster function found (optimize.h).
//
// Threads: a value type.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "weft/compiler/search_options.h"

namespace weft {

// What was found, for people.
struct OptimizeReport {
  // "unchanged", "greedy" where no step may make things worse, or "relaxed".
  std::string taken = "unchanged";
  // Seconds of a run by the cost table, before and after.
  double predicted_before = 0;
  double predicted_after = 0;
  // The same measured: the least of runs in turns.
  double measured_before = 0;
  double measured_after = 0;
  std::vector<SearchStep> steps = {};
  std::vector<SearchStep> refused = {};
  std::size_t parts = 0;
  std::size_t expanded = 0;
  std::size_t tried = 0;
  std::size_t timed = 0;
  bool is_out_of_time = false;

  bool operator==(const OptimizeReport&) const = default;
};

}  // namespace weft
