// Moves a bias and a relu that follow a convolution or a matrix product into
// it, where the library applies them while the result is still in registers.
//
// Threads: pure function.
#pragma once

#include "weft/graph/function.h"

namespace weft {

Function fuse_epilogues(const Function& function);

}  // namespace weft
