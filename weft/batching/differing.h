// In what instances differ, where functions branch, loop and call each other.
//
// Threads: one thread at a time.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "weft/graph/phases.h"

namespace weft {

// One entry per operand, parameter or result: whether the instances differ.
using Flags = std::vector<bool>;

inline bool has_any(const Flags& flags) {
  return std::find(flags.begin(), flags.end(), true) != flags.end();
}
// Into the first, whether either holds.
void unite(Flags& flags, const Flags& others);

// How a node enters functions that are no loop's: as a whole, or in a phase.
struct Entering {
  bool is_branch;
  bool is_phased;
  std::size_t leading;    // operands before the arguments
  Phases phases = {};     // with is_phased
  std::size_t phase = 0;  // that is entered

  Entering(const OpDef& op, const Attributes& attributes);

  // How many of a function's parameters its first phase has.
  std::size_t first_count(std::size_t parameters) const;
  std::size_t first_result() const {
    return is_phased ? phases.first_result(phase) : 0;
  }
  // How many of a node's outputs are no activation.
  std::size_t result_count(std::size_t outputs) const;
  bool leaves_activation() const {
    return is_phased && phase + 1 < phases.count();
  }
  // Which of `count` parameters differ, by the operands of the node.
  Flags parameters(const Flags& operands, std::size_t count) const;
};

class Differing {
 public:
  // Goes through all that `entry` runs when the instances differ in such
  // parameters. `graph` outlives this.
  Differing(const Graph& graph, const Function& entry, const Flags& parameters);

  // The results of a function that is run with such parameters.
  const Flags& of_results(const FunctionRef& function,
                          const Flags& parameters) const;
  // The results of any node, by its operands. Parameters of phases that come
  // later differ, as who enters first does not know them (graph/phases.h).
  Flags of_node(const OpDef& op, const Attributes& attributes,
                const Flags& operands, std::size_t results) const;
  // The results, of all phases, of the functions that a node enters.
  Flags of_functions(const Entering& entering, const Attributes& attributes,
                     const Flags& operands) const;
  // The parameters of a loop's functions after any number of steps, with the
  // mask of a loop that ends at other times for other instances not among them.
  Flags of_loop(const OpDef& loop, const Attributes& attributes,
                Flags operands) const;

 private:
  using Key = std::pair<std::string, Flags>;

  void settle() const;
  Flags analyse(const Function& function, const Flags& parameters) const;

  const Graph& graph_;
  // What is known so far: less than holds, until nothing changes any more.
  mutable std::map<Key, Flags> known_;
  mutable bool is_settling_ = false;
};

}  // namespace weft
