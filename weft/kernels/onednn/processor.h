// What oneDNN may use of the processor.
//
// Threads: safe from any.
#pragma once

#include <optional>
#include <string>

#include "weft/tensor/dtype.h"

namespace weft::onednn {

// Keeps oneDNN below instruction_set(). Comes before its first primitive, after
// which it would not listen; later calls cost nothing.
void obey_instruction_set();

// Why products of `dtype` are not computed in it, or nothing if they are.
// Without its instructions oneDNN emulates bf16, slower than f32 would be.
std::optional<std::string> dtype_declined(DType dtype);

}  // namespace weft::onednn
