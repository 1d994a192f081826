// Two recurrent layers, the second of which goes on where the first ended, as
// one layer over the steps of both: for rules whose pattern has the first one
// as node 0 and the second as node 1.
//
// What enters from outside must be numbered so: 0 and 1 are the inputs
// [steps, batch, width], 2 the first state, and from there to 6 what else the
// first layer reads.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/compiler/rule.h"

namespace weft {

bool has_steps(const MatchedNode& layer);
bool are_alike_layers(const MatchView& match);

class JoinedSteps {
 public:
  // Computes the layer over all steps.
  explicit JoinedSteps(const MatchView& match);

  // The steps of the first and of the second layer, of a result that has all.
  Value first(std::size_t result) const;
  Value second(std::size_t result) const;
  // The state behind the first layer, which is its last step in such a result.
  Value state_between(std::size_t result) const;
  const Value& whole(std::size_t result) const { return all_[result]; }

 private:
  Value part(std::size_t result, Dim from, Dim to) const;

  std::vector<Value> all_;
  Shape state_;
  Dim cut_ = 0;  // the first step of the second layer
  Dim end_ = 0;
};

}  // namespace weft
