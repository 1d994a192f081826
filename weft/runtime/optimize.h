// Makes a function faster by rules whose worth is measured (compiler/search.h),
// and measures the winner end to end: it is taken only if it is faster.
//
// Threads: one optimizes at a time, as it measures with all threads.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/search.h"

namespace weft {

struct OptimizeOptions {
  SearchOptions search = {};
  // Passes and rules that plans leave out (compiler/pass.h).
  std::vector<std::string> without = {};
};

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

struct Optimized {
  Function function;
  OptimizeReport report;
};

// `is_frozen` has an entry for each parameter: what depends on frozen ones
// alone is computed once, by whoever runs the function (compiler/frozen.h).
// `dims` says what its symbols stand for where it is measured; the result takes
// any. With alpha above 1 a greedy search is made too, and the faster of both
// is taken. Throws Error(kUnsupported) for a function that branches, loops or
// calls, or whose dims are not all bound; what search() throws.
Optimized optimize(const Function& function, const std::vector<bool>& is_frozen,
                   const Bindings& dims, const OptimizeOptions& options);

}  // namespace weft
