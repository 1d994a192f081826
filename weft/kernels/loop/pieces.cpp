#include "weft/kernels/loop/pieces.h"

#include <algorithm>
#include <map>

namespace weft {
namespace {

// What is known of a program that is cut into certain parts.
class Cut {
 public:
  Cut(const LoopProgram& program, const LoopParts& parts)
      : program_(program), parts_(parts), last_(parts.size() - 1) {
    part_of_.resize(program.instructions.size());
    for (std::size_t part = 0; part < parts.size(); ++part) {
      for (const std::size_t i : parts[part]) part_of_[i] = part;
    }
    find_crossing();
  }

  LoopPiece piece(std::size_t part) const {
    LoopPiece piece;
    piece.program.shape = program_.shape;
    piece.is_call = is_call(part);
    // Inputs are numbered before instructions, so they are found first.
    std::map<int, int> numbers;
    const auto read = [&](int value) {
      if (!is_input(value) && part_of(value) == part) return;
      const int number = static_cast<int>(piece.inputs.size());
      if (!numbers.try_emplace(value, number).second) return;
      piece.inputs.push_back(value);
      piece.program.inputs.push_back(
          is_input(value) ? program_.inputs[static_cast<std::size_t>(value)]
                          : crossing_input());
    };
    for (const std::size_t i : parts_[part]) {
      for (const int operand : program_.instructions[i].operands) read(operand);
    }
    for (const auto& output : program_.outputs) {
      if (storing_part(output) == part) read(output.operand);
    }
    for (const std::size_t i : parts_[part]) {
      auto instruction = program_.instructions[i];
      for (int& operand : instruction.operands) operand = numbers.at(operand);
      numbers[value_of(i)] = static_cast<int>(
          piece.inputs.size() + piece.program.instructions.size());
      piece.program.instructions.push_back(std::move(instruction));
    }
    add_outputs(part, numbers, piece);
    return piece;
  }

 private:
  bool is_input(int value) const {
    return static_cast<std::size_t>(value) < program_.inputs.size();
  }
  std::size_t part_of(int value) const {
    return part_of_[static_cast<std::size_t>(value) - program_.inputs.size()];
  }
  int value_of(std::size_t instruction) const {
    return static_cast<int>(program_.inputs.size() + instruction);
  }
  bool is_call(std::size_t part) const {
    return parts_[part].size() == 1 &&
           program_.instructions[parts_[part][0]].code == Opcode::kCall;
  }
  LoopProgram::Input crossing_input() const {
    return {{DType::kF32, program_.shape}, std::nullopt};
  }

  // Code stores what it computes; what a call returns, or what is an operand,
  // is stored by the last part.
  // The last part runs when all calls have returned.
  std::size_t storing_part(const LoopProgram::Output& output) const {
    if (is_input(output.operand)) return last_;
    const std::size_t part = part_of(output.operand);
    return is_call(part) ? last_ : part;
  }

  void find_crossing() {
    crosses_.resize(program_.instructions.size(), false);
    const auto read = [&](int value, std::size_t part) {
      if (is_input(value) || part_of(value) == part) return;
      crosses_[static_cast<std::size_t>(value) - program_.inputs.size()] = true;
    };
    for (std::size_t i = 0; i < program_.instructions.size(); ++i) {
      // A call writes its result somewhere, even if nobody reads it.
      if (is_call(part_of_[i])) crosses_[i] = true;
      for (const int operand : program_.instructions[i].operands) {
        read(operand, part_of_[i]);
      }
    }
    for (const auto& output : program_.outputs) {
      read(output.operand, storing_part(output));
    }
  }

  void add_outputs(std::size_t part, const std::map<int, int>& numbers,
                   LoopPiece& piece) const {
    for (std::size_t j = 0; j < program_.outputs.size(); ++j) {
      auto output = program_.outputs[j];
      if (storing_part(output) != part) continue;
      output.operand = numbers.at(output.operand);
      piece.program.outputs.push_back(std::move(output));
      piece.outputs.push_back(static_cast<int>(j));
    }
    for (const std::size_t i : parts_[part]) {
      if (!crosses_[i]) continue;
      piece.program.outputs.push_back(
          {numbers.at(value_of(i)), {DType::kF32, program_.shape}});
      piece.outputs.push_back(-1 - value_of(i));
    }
  }

  const LoopProgram& program_;
  const LoopParts& parts_;
  const std::size_t last_;
  std::vector<std::size_t> part_of_;  // by instruction
  std::vector<bool> crosses_;         // by instruction
};

}  // namespace

LoopParts parts_at_calls(const LoopProgram& program) {
  // How many calls stand one behind the other before each value is there.
  std::vector<std::size_t> depth(
      program.inputs.size() + program.instructions.size(), 0);
  std::size_t deepest = 0;
  for (std::size_t i = 0; i < program.instructions.size(); ++i) {
    const auto& instruction = program.instructions[i];
    std::size_t& own = depth[program.inputs.size() + i];
    for (const int operand : instruction.operands) {
      own = std::max(own, depth[static_cast<std::size_t>(operand)]);
    }
    if (instruction.code == Opcode::kCall) ++own;
    deepest = std::max(deepest, own);
  }
  LoopParts parts;
  // Code of one level needs no call but those of levels before, and so becomes
  // one part: what it computes need not leave the registers between its
  // instructions.
  for (std::size_t level = 0; level <= deepest; ++level) {
    std::vector<std::size_t> code;
    for (std::size_t i = 0; i < program.instructions.size(); ++i) {
      if (depth[program.inputs.size() + i] != level) continue;
      if (program.instructions[i].code == Opcode::kCall)
        parts.push_back({i});
      else
        code.push_back(i);
    }
    // The last part has to be code, if empty, as it stores what calls returned.
    if (!code.empty() || level == deepest) parts.push_back(std::move(code));
  }
  return parts;
}

bool is_read_by_call(const LoopProgram& program, std::size_t input) {
  return std::any_of(program.instructions.begin(), program.instructions.end(),
                     [&](const LoopProgram::Instruction& instruction) {
                       const auto& operands = instruction.operands;
                       return instruction.code == Opcode::kCall &&
                              std::find(operands.begin(), operands.end(),
                                        static_cast<int>(input)) !=
                                  operands.end();
                     });
}

std::vector<LoopPiece> pieces_of(const LoopProgram& program,
                                 const LoopParts& parts) {
  const Cut cut(program, parts);
  std::vector<LoopPiece> pieces;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    pieces.push_back(cut.piece(part));
  }
  return pieces;
}

}  // namespace weft
