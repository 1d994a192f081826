// The function as one instance computes it, and what of it differs between
// instances.
//
// Threads: pure functions.
#pragma once

#include <vector>

#include "weft/graph/function.h"

namespace weft {

class Differing;

struct InstanceForm {
  Function function;
  std::vector<bool> is_batched;  // by value: whether the instances differ in it

  bool depends(ValueId id) const {
    return is_batched[static_cast<std::size_t>(id)];
  }
};

// A copy of `function` in which every op that depends on a batched parameter,
// has no batching rule and lowers to others is replaced by these. Throws what
// the ops' inference throws. `differing` knows what functions that the nodes
// run make of their operands.
InstanceForm instance_form(const Function& function,
                           const std::vector<bool>& batched_parameters,
                           const Differing* differing = nullptr);

}  // namespace weft
