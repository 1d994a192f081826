// Parse trees in Penn bracket form, with a label at every node:
//
//   (3 (2 It) (4 (2 's) (4 lovely)))
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct ParseTree {
  struct Node {
    std::int32_t label = 0;
    // Numbers of nodes; -1 in a leaf.
    std::int32_t left = -1;
    std::int32_t right = -1;
    std::string word;  // empty unless a leaf
  };
  // They come in the order in which they end: children before parents, the root
  // last.
  std::vector<Node> nodes;
};

// The trees of a text, one a line; empty lines are left out. Every node has a
// label in [0, classes) and is a leaf or has two children. Only spaces and
// brackets separate.
// Throws Error(kDataLoss) naming `where`, the line and the column.
std::vector<ParseTree> parse_trees(std::string_view text,
                                   std::string_view where,
                                   std::int32_t classes);

}  // namespace weft
