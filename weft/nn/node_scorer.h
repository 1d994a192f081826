// What tasks see of a model that tells how near the nodes of a graph are.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

class NodeScorer : public Module {
 public:
  // How near each of nodes i32[N] is to its own others i32[N, K]: [N, K]. The
  // sigmoid is the probability that a walk meets both.
  virtual Value scores(const Value& nodes, const Value& others) = 0;
  // How near nodes i32[N] are to all that there are: [N, all].
  virtual Value all_scores(const Value& nodes) = 0;
};

}  // namespace weft::nn
