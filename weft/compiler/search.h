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

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "weft/compiler/function_cost.h"
#include "weft/compiler/rule.h"

namespace weft {

// What is to be small: a weighted sum, under a limit.
struct SearchObjective {
  double seconds = 1;
  double flops = 0;
  double bytes = 0;
  double launches = 0;
  // Bytes of the arena. Functions that need more are never taken, unless the
  // one to begin with does.
  std::optional<std::size_t> arena_limit = {};

  double operator()(const StepCost& cost) const {
    return seconds * cost.seconds + flops * cost.flops + bytes * cost.bytes +
           launches * cost.launches;
  }
};

struct SearchOptions {
  // A function is kept if it costs less than so many times the best one. At 1
  // no step may make things worse: the search is greedy.
  double alpha = 1.05;
  // Functions of each part whose substitutions are tried.
  int budget = 300;
  // After so many seconds the best that was found is taken.
  double seconds = 60;
  std::size_t part_nodes = 30;
  bool is_split = true;
  SearchObjective objective = {};
  // Whether rules that do not hold in training are left out.
  bool in_training = false;
  std::vector<std::string> without = {};  // rules
};

// A substitution on the way to the result, or one that it does not have.
struct SearchStep {
  std::string rule;
  std::string layer;  // where it fits; may be empty
  double gain = 0;    // of the objective, by the cost table

  bool operator==(const SearchStep&) const = default;
};

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
