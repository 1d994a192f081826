// Values for who only asks what a step or a plan would take; and constants of
// them in the place of frozen parameters, as passes and kernels treat constants
// otherwise than parameters.
//
// Threads: caller synchronises.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// Ordinary numbers as floats; zeros as integers, which as indices lie in every
// axis. Floats of other numbers differ in some last digits. All of it is
// written: pages that nobody has written are one and the same, and lie in the
// cache.
Tensor stand_in(const TensorType& type, std::size_t number = 0);

class StandIns {
 public:
  // The function with constants wherever its parameters from `first` on are
  // read. No two floating constants of a function have the same bytes, so that
  // nothing of it is the same which would not be with weights. Tensors are kept
  // for the next function. Dims must be static.
  Function put(const Function& function, std::size_t first);

 private:
  std::map<std::string, std::vector<Tensor>> known_;  // by type
};

}  // namespace weft
