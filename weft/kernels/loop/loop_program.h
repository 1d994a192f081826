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
  struct Input {
    TensorType type;                  // broadcasts to `shape`
    std::optional<double> immediate;  // a known scalar: takes no pointer
    // How wide values are that lie side by side along the last axis. Each has a
    // pointer; `type` is that of all of them together, and has the whole shape.
    std::vector<std::int64_t> widths = {};
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

}  // namespace weft
