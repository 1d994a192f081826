// Cuts a function into parts that are searched one by one, where as few
// substitutions as can be lie across a cut (Jia et al., "Optimizing DNN
// Computation with Relaxed Graph Substitutions", SysML 2019, section 5.2).
//
// Threads: pure functions.
#pragma once

#include <span>
#include <vector>

#include "weft/compiler/rule.h"

namespace weft {

// How many matches a cut at each node would destroy: those that have both an
// operand and a reader of the node among their nodes.
std::vector<std::int64_t> cut_capacities(const Function& function,
                                         std::span<const RuleDef* const> rules);

// The nodes of each part, in order, at most `most` in each: no part reads what
// depends on itself. Halves are cut again until they are small; each has at
// least a quarter of what was cut.
std::vector<std::vector<NodeId>> split_graph(
    const Function& function, std::span<const RuleDef* const> rules,
    std::size_t most);

// Runs of at most `most` nodes as they stand in the function, the first of half
// as many: their borders lie elsewhere than those of parts.
std::vector<std::vector<NodeId>> split_in_order(const Function& function,
                                                std::size_t most);

// A part as a function: from what it reads from outside, which `inputs` names,
// to what is read of it, `results`.
struct FunctionPart {
  std::vector<NodeId> nodes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> results;
  Function function;
};
FunctionPart part_of(const Function& function, const Readers& readers,
                     std::vector<NodeId> nodes);

}  // namespace weft
