// What kernels make of operands that never change (OpCall::known): packed
// weights, made once for all kernels that want the same. So the steps of an
// unrolled network, and the plans of a model for many shapes, read one copy.
//
// Threads: safe from any; who asks while something is made waits for it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "weft/tensor/tensor.h"

namespace weft {

// `make()` of `known`, or what it made before if anybody still holds that.
// `layout` says all that the bytes depend on beside those of `known`, the name
// of who makes them included. The result holds `known`, whose bytes must stay
// what they are until the last holder lets go: whoever asks by then gets what
// was made of them before. Throws what `make` throws.
std::shared_ptr<const Tensor> shared_packing(
    const Tensor& known, std::string layout,
    const std::function<Tensor()>& make);

}  // namespace weft
