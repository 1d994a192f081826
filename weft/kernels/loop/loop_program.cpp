#include "weft/kernels/loop/loop_program.h"

namespace weft {
namespace {

// What an instruction rounds to as a store of that dtype does.
std::optional<DType> rounds_to(Opcode code) {
  switch (code) {
    case Opcode::kToBf16:
      return DType::kBF16;
    case Opcode::kToF16:
      return DType::kF16;
    default:
      return std::nullopt;
  }
}

// How many instructions and outputs read each operand.
std::vector<int> count_readers(const LoopProgram& program) {
  std::vector<int> readers(program.inputs.size() + program.instructions.size());
  const auto note = [&](int operand) {
    ++readers[static_cast<std::size_t>(operand)];
  };
  for (const auto& instruction : program.instructions) {
    for (const int operand : instruction.operands) note(operand);
  }
  for (const auto& output : program.outputs) note(output.operand);
  return readers;
}

// Drops the instructions that have no reader, and numbers the others anew.
void drop_unread(LoopProgram& program, const std::vector<int>& readers) {
  const std::size_t inputs = program.inputs.size();
  std::vector<int> number(readers.size());
  std::vector<LoopProgram::Instruction> kept;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    number[i] = static_cast<int>(i < inputs ? i : inputs + kept.size());
    if (i >= inputs && readers[i] > 0) {
      kept.push_back(std::move(program.instructions[i - inputs]));
    }
  }
  const auto renumber = [&](int& operand) {
    operand = number[static_cast<std::size_t>(operand)];
  };
  program.instructions = std::move(kept);
  for (auto& instruction : program.instructions) {
    for (int& operand : instruction.operands) renumber(operand);
  }
  for (auto& output : program.outputs) renumber(output.operand);
}

}  // namespace

LoopProgram without_repeated_rounding(LoopProgram program) {
  const auto inputs = static_cast<int>(program.inputs.size());
  std::vector<int> readers = count_readers(program);
  for (auto& output : program.outputs) {
    if (output.is_sum || output.operand < inputs) continue;
    const auto& rounding =
        program.instructions[static_cast<std::size_t>(output.operand - inputs)];
    int& readers_of_it = readers[static_cast<std::size_t>(output.operand)];
    if (rounds_to(rounding.code) != output.type.dtype || readers_of_it > 1) {
      continue;
    }
    // The output reads in its place what it has read.
    readers_of_it = 0;
    output.operand = rounding.operands.front();
  }
  drop_unread(program, readers);
  return program;
}

}  // namespace weft
