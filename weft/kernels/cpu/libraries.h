// The candidates that call a library: oneDNN's and OpenBLAS's in weft
// (kernels/libraries/), and none in weft_core (kernels/plain/).
//
// Threads: immutable.
#pragma once

#include "weft/graph/kernel.h"

namespace weft {

const KernelRegistry& library_kernel_registry();

}  // namespace weft
