// Parse trees as examples.
//
// Threads: immutable once built.
#pragma once

#include "weft/data/dataset.h"
#include "weft/data/parse_tree.h"

namespace weft {

// What the three parts of a tree bank share: its words, by how often they
// occur in training, and the size of its largest tree.
class TreeBank {
 public:
  TreeBank(const std::vector<ParseTree>& train, std::int64_t most_nodes);

  // Number 0 is <unk>, for words that training does not have.
  const std::vector<std::string>& words() const { return words_; }
  std::int64_t most_nodes() const { return most_nodes_; }

  // Each tree as a table of its nodes, children before parents, filled up to
  // most_nodes():
  //   word   i32[nodes]  its number; 0 at inner nodes
  //   left   i32[nodes]  its left child's row; -1 at leaves and beyond the root
  //   right  i32[nodes]
  //   root   i32[]       the root's row
  //   label  i32[nodes]  -1 beyond the root
  // `classes` says what the labels mean.
  DatasetRef dataset(std::vector<ParseTree> trees, std::string name,
                     std::vector<std::string> classes) const;

 private:
  std::vector<std::string> words_;
  std::int64_t most_nodes_;
};

}  // namespace weft
