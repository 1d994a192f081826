// A loop program cut into pieces that run one after the other on each tile:
// code that holds its values in registers, and calls of tile functions (exp,
// tanh, …) in between. What one piece computes and another reads crosses in a
// buffer that stays in the first-level cache, which costs a store and a load
// where memory is what a loop waits for.
//
// A piece that needs more registers than there are is cut in two again.
//
// Threads: pure functions.
#pragma once

#include <cstddef>
#include <vector>

#include "weft/kernels/loop/loop_program.h"

namespace weft {

struct LoopPiece {
  LoopProgram program;
  bool is_call = false;  // then it has one instruction, and one output
  // The values of the whole program behind the inputs, as operands are
  // numbered there.
  std::vector<int> inputs;
  // Where each output goes: output number n of the whole program, or, as
  // -1 - v, its value v, which crosses.
  std::vector<int> outputs;
};

// Instructions of the whole program by their position, part by part.
using LoopParts = std::vector<std::vector<std::size_t>>;

// Makes as few parts as there can be: each call alone, and between them all
// that needs no later one. The last part is no call; it stores what is no other
// part's to store, and may be empty.
LoopParts parts_at_calls(const LoopProgram& program);

// Whether a call reads input `input`, which must then be f32.
bool is_read_by_call(const LoopProgram& program, std::size_t input);

// The pieces that these parts make. Values must be computed in an earlier part
// than they are read in, or in the same.
std::vector<LoopPiece> pieces_of(const LoopProgram& program,
                                 const LoopParts& parts);

}  // namespace weft
