// Matrices as oneDNN sees them.
//
// Threads: safe from any.
#pragma once

#include "weft/kernels/onednn/program.h"

namespace weft::onednn {

// An operand of a product: `rank` dims, the last two in the order of the
// product, transposition expressed by strides.
dnnl::memory::desc matrix(const TensorType& type, int rank,
                          bool transpose = false);

}  // namespace weft::onednn
