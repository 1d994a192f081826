// Machine code for a loop program, or for a piece of one (pieces.h): one pass
// that keeps every value of a vector in registers between its load and its
// store, so that nothing but memory bandwidth limits it.
//
// Needs AVX2; on other processors the tile functions run the whole program.
//
// Threads: immutable; run() may be called from many threads at once.
#pragma once

#include <memory>
#include <span>

#include "weft/kernels/loop/loop_program.h"

namespace weft {

// How code finds an operand: memory of this dtype, at a pointer given with each
// run.
struct CodeOperand {
  DType dtype;
  bool is_single = false;  // one f32 for all elements of a run
};

// How results are stored: past the caches, whole vectors of f32, whose places
// must then be multiples of 64 bytes; or as usual.
enum class LoopStores { kCached, kStreamed };

class LoopCode {
 public:
  // Whether the machine and the dtypes are covered: the program is of f32.
  static bool covers(const LoopProgram& program,
                     std::span<const CodeOperand> inputs);
  // Compiles a program that is covered and calls no function. Returns null if
  // it needs more registers than there are, or more code than a buffer holds.
  static std::unique_ptr<LoopCode> compile(const LoopProgram& program,
                                           std::span<const CodeOperand> inputs,
                                           LoopStores stores);

  virtual ~LoopCode() = default;

  // Runs `size` elements. `pointers` are the inputs', then the outputs', each
  // at its first element; a sum's points at f32 accumulators.
  virtual void run(void* const* pointers, std::int64_t size) const noexcept = 0;
};

}  // namespace weft
