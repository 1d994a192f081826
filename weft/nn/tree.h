// Recursive networks over binary trees: a cell makes the state of a leaf from
// its word, and that of an inner node from its children's; a softmax reads
// every node.
//
// Trees are tables of nodes (data/tree_bank.h), i32[N, rows, 2]: a tree's root
// is its row 0; columns are the word, and how many rows further the left child
// lies, 0 at a leaf. The right child is the next row.
//
// Staged, a network is a function that calls itself; at once, it is recursion
// of the host.
//
// Threads: as Context.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"

namespace weft::nn {

struct TreeCell {
  using States = std::vector<Value>;  // [1, width] each; the first is read
  using Weights = std::span<const Value>;

  std::string name;
  std::vector<std::int64_t> widths;  // one per vector of a state
  // What the functions below are given as weights: the body of a recursive
  // function sees nothing around it.
  std::vector<Value> weights;
  // Takes the vector of a word, [1, width].
  std::function<States(const Value& word, Weights)> leaf;
  std::function<States(const States& left, const States& right, Weights)> join;
};

struct TreeNetworkOptions {
  std::int64_t words = 0;
  std::int64_t embedding = 0;  // the width of a word
  std::int64_t hidden = 0;     // the width of a state's first vector
  std::int64_t classes = 0;
  double dropout = 0;  // on the words
};

// Reads every node of trees. As a layer it gives the logits of the roots,
// [N, classes].
class TreeReader : public Layer {
 public:
  struct Reading {
    Value loss;    // f32 scalar: the cross entropy, summed over all nodes
    Value logits;  // at the roots, [N, classes]
  };
  // `labels`: i32[N, rows], of every node; those beyond a tree's end are not
  // read.
  virtual Reading read(const Value& trees, const Value& labels) = 0;
};

class TreeNetwork : public TreeReader {
 public:
  Reading read(const Value& trees, const Value& labels) override;

  virtual TreeCell cell() const = 0;

 protected:
  explicit TreeNetwork(const TreeNetworkOptions& options);

  Value forward(const Value& trees) override;

 private:
  Reading walk(const Value& trees, const Value& labels);

  Embedding& embedding_;
  Dropout& dropout_;
  ParameterRef weight_;
  ParameterRef bias_;
};

}  // namespace weft::nn
