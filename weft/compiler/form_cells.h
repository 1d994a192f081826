// Puts steps of the ops lstm and gru in the place of cells that were written
// with separate ops (recurrent_cells.h): one pass over packed weights, with all
// that is elementwise in registers.
//
// Threads: pure function.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// The same function, to rounding; what nothing needs any more is still there.
// Dims may be symbolic.
Function form_cells(const Function& function);

}  // namespace weft
