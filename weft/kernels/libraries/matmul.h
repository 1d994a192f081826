// oneDNN's product of matrices, for kernels that are made of one.
//
// Threads: may be called from any.
#pragma once

#include <memory>

#include "weft/graph/kernel.h"

namespace weft {

// For a call of `matmul` that oneDNN's primitive takes; throws dnnl::error for
// others. The kernel reads its bias, where it has one, as operand 2.
std::unique_ptr<PreparedKernel> prepare_library_matmul(const OpCall& call);

}  // namespace weft
