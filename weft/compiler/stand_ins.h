// Constants in the place of frozen parameters, for who only asks what a plan of
// a function would take: passes and kernels treat constants otherwise than
// parameters.
//
// Threads: caller synchronises.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

class StandIns {
 public:
  // The function with constants wherever its parameters from `first` on are
  // read: ordinary numbers as floats, zeros as integers. No two floating
  // constants of a function have the same bytes, so that nothing of it is the
  // same which would not be with weights. Tensors are kept for the next
  // function. Dims must be static.
  Function put(const Function& function, std::size_t first);

 private:
  std::map<std::string, std::vector<Tensor>> known_;  // by type
};

}  // namespace weft
