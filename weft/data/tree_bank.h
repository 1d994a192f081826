// Parse trees as examples.
//
// Threads: immutable once built.
#pragma once

#include "weft/data/dataset.h"
#include "weft/data/parse_tree.h"

namespace weft {

// The words of the leaves, the most frequent first (data/text.h).
std::vector<std::string> words_of_trees(const std::vector<ParseTree>& trees);

// What the three parts of a tree bank share: its words, by how often they
// occur in training, and the size of its largest tree.
class TreeBank {
 public:
  TreeBank(const std::vector<ParseTree>& train, std::int64_t most_nodes);

  // Number 0 is <unk>, for words that training does not have.
  const std::vector<std::string>& words() const { return words_; }
  std::int64_t most_nodes() const { return most_nodes_; }

  // Each tree as a table of its nodes, the root first, filled up to
  // most_nodes():
  //   tree   i32[nodes, 2]  of each node the number of its word, 0 if it has
  //                         none, and how many rows further its left child
  //                         is, 0 if it has none; the right child is the next
  //                         row
  //   label  i32[nodes]     -1 beyond the end of the tree
  // `classes` says what the labels mean.
  DatasetRef dataset(std::vector<ParseTree> trees, std::string name,
                     std::vector<std::string> classes) const;

 private:
  std::vector<std::string> words_;
  std::int64_t most_nodes_;
};

}  // namespace weft
