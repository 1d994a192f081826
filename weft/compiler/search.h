// Looks for the cheapest function that rules make of one: backtracking search
// over a queue ordered by cost, with rules that may make things worse before
// they get better (Jia et al., "Optimizing DNN Computation with Relaxed Graph
// Substitutions", SysML 2019, algorithm 1).
//
// Functions of more than a few dozen nodes are cut into parts (split_graph.h),
// each of which is searched by itself; equal parts are searched once. A second
// round over other parts finds what lies across the cuts.
//
// The same costs give the same result.
//
// Threads: as CostTable.
#pragma once

#include <string>
#include <vector>

#include "weft/compiler/function_cost.h"
#include "weft/compiler/rule.h"
#include "weft/compiler/search_options.h"

namespace weft {

struct SearchResult {
  Function function;
  double before = 0;  // the objective of the whole
  double after = 0;
  std::vector<SearchStep> taken = {};
  // What fits the result, and what it would gain: nothing, or less than
  // nothing.
  std::vector<SearchStep> refused = {};
  std::size_t parts = 0;
  std::size_t expanded = 0;  // functions whose substitutions were tried
  std::size_t tried = 0;     // functions whose cost was asked
  std::size_t timed = 0;     // steps that were measured
  bool is_out_of_time = false;
};

// The measured rules that the options leave.
std::vector<const RuleDef*> rules_for(const SearchOptions& options);

// `is_frozen` has an entry for each parameter (function_cost.h). Throws
// Error(kInvalidArgument) for a rule in `without` that there is not and for
// numbers out of range; what FunctionCosts::cost() throws.
SearchResult search(const Function& function,
                    const std::vector<bool>& is_frozen, FunctionCosts& costs,
                    const SearchOptions& options);

}  // namespace weft
