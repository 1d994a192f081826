// Machine code for a loop program: one pass that keeps every value of a
// vector in registers between its load and its store, so that nothing but
// memory bandwidth limits it. The tile functions are the other way to run a
// program, and the only one for ops that are calls (exp, tanh, …).
//
// Needs AVX-512; elsewhere, compile() returns null and tiles are used.
//
// Threads: immutable; run() may be called from many threads at once.
#pragma once

#include <memory>
#include <span>

#include "weft/kernels/loop/loop_program.h"

namespace weft {

class LoopCode {
 public:
  // `input_dtypes` say how the code finds operand i: memory of this dtype, at a
  // pointer given with each run. Null where the machine, a dtype or an op is
  // not covered, or registers run out.
  static std::unique_ptr<LoopCode> compile(const LoopProgram& program,
                                           std::span<const DType> input_dtypes);

  virtual ~LoopCode() = default;

  // Runs `size` elements. `pointers` are the inputs', then the outputs', each
  // at its first element; a sum's points at f32 accumulators.
  virtual void run(void* const* pointers, std::int64_t size) const noexcept = 0;
};

}  // namespace weft
