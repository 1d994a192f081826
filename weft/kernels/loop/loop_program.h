// A chain of elementwise ops over one iteration space, with stores and sums
// at its ends: what loop kernels run.
//
// Operands are numbered: first the inputs, then each instruction's result.
//
// Threads: a value type.
#pragma once

#include <optional>
#include <vector>

#include "weft/kernels/loop/tile_functions.h"

namespace weft {

struct LoopProgram {
  // Columns of a value whose rows may have others too.
  struct Columns {
    std::int64_t width;
    std::int64_t row;        // all columns of a row of the value
    std::int64_t first = 0;  // where those that are read begin there
  };
  struct Input {
    TensorType type;                  // broadcasts to `shape`
    std::optional<double> immediate;  // a known scalar: takes no pointer
    // What is read side by side along the last axis: all of several values, or
    // some columns of one. Each has a pointer, to the value; `type` is that of
    // all columns together, and has the whole shape.
    std::vector<Columns> columns = {};
  };
  struct Instruction {
    TileFunction function;
    Opcode code;
    std::vector<int> operands;
    std::array<double, 2> parameters{};

    Instruction(const TileOp& op, std::vector<int> numbers)
        : function(op.function), code(op.code), operands(std::move(numbers)) {}
  };
  struct Output {
    int operand;
    TensorType type;
    // Sum over the leading axes that `type` lacks, times `scale`; else a
    // plain store of the whole shape.
    bool is_sum = false;
    double scale = 1;
  };

  TileType type = TileType::kF32;  // what holds every value in between
  Shape shape;                     // what is iterated over
  std::vector<Input> inputs;
  std::vector<Instruction> instructions;
  std::vector<Output> outputs;
};

// The same program without instructions that round a value to bf16 or f16 for
// nobody but an output of that dtype, which is rounded as it is stored.
LoopProgram without_repeated_rounding(LoopProgram program);

}  // namespace weft
