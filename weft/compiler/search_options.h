// How substitutions are searched for, and how one is told of (search.h).
//
// Threads: value types.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

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

  bool operator==(const SearchObjective&) const = default;
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

  bool operator==(const SearchOptions&) const = default;
};

// A substitution on the way to the result, or one that it does not have.
struct SearchStep {
  std::string rule;
  std::string layer;  // where it fits; may be empty
  double gain = 0;    // of the objective, by the cost table

  bool operator==(const SearchStep&) const = default;
};

}  // namespace weft
