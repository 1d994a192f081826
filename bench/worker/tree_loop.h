// A tree network as two nested loops: over the trees, and over the nodes of
// each from its last row to its root, so that children come first. What nodes
// leave behind lies in a table, a row each.
//
// This is what a graph without recursion does; the cell and the weights are
// those of the network that it is made from.
#pragma once

#include <memory>

#include "weft/nn/tree.h"

namespace weft::bench {

class TreeLoop : public nn::TreeReader {
 public:
  explicit TreeLoop(std::shared_ptr<nn::TreeNetwork> network);

  Reading read(const Value& trees, const Value& labels) override;

 protected:
  Value forward(const Value& trees) override;

 private:
  std::shared_ptr<nn::TreeNetwork> network_;
};

}  // namespace weft::bench
