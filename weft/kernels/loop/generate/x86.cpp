#include <algorithm>

#include "weft/base/cpu.h"
#include "weft/kernels/loop/generate/generated_loop.h"
#include "weft/kernels/loop/generate/generator.h"

namespace weft {
namespace {

bool can_store(DType dtype) {
  // i32 and wider need more bits than f32 has, so that no result of theirs
  // passes through it.
  return dtype == DType::kF32 || dtype == DType::kBF16 ||
         dtype == DType::kF16 || dtype == DType::kBool || dtype == DType::kI8 ||
         dtype == DType::kU8;
}
bool can_load(const CodeOperand& operand) {
  if (operand.is_single) return operand.dtype == DType::kF32;
  return can_store(operand.dtype) || operand.dtype == DType::kI32;
}

}  // namespace

bool LoopCode::covers(const LoopProgram& program,
                      std::span<const CodeOperand> inputs) {
  return instruction_set() >= InstructionSet::kAvx2 &&
         program.type == TileType::kF32 &&
         std::all_of(inputs.begin(), inputs.end(), can_load) &&
         std::all_of(program.outputs.begin(), program.outputs.end(),
                     [](const auto& output) {
                       return output.is_sum || can_store(output.type.dtype);
                     });
}

std::unique_ptr<LoopCode> LoopCode::compile(const LoopProgram& program,
                                            std::span<const CodeOperand> inputs,
                                            LoopStores stores) {
  // Xbyak reports by exceptions; here a failure only means that the loop runs
  // by functions.
  try {
    return instruction_set() >= InstructionSet::kAvx512
               ? compile_avx512(program, inputs, stores)
               : compile_avx2(program, inputs, stores);
  } catch (const OutOfRegisters&) {
    return nullptr;
  } catch (const Xbyak::Error&) {  // code buffer full, or no executable memory
    return nullptr;
  }
}

}  // namespace weft
