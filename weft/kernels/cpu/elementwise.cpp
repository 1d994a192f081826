// Every op that has a tile function, run as a loop of one instruction.
#include "weft/graph/kernel.h"
#include "weft/graph/known_ops.h"
#include "weft/kernels/loop/loop_kernel.h"

namespace weft {
namespace {

std::optional<std::string> elementwise_declines(const OpCall& call) {
  const auto type = loop_type(call.op.name(), call.inputs, call.outputs);
  if (!type) return "no number holds both i64 and floats";
  if (call.op != known::cast &&
      find_tile_op(call.op.name(), *type) == nullptr) {
    return fmt::format("no loop in {}", to_string(dtype_of(*type)));
  }
  const DType result = call.outputs[0].dtype;
  if (*type == TileType::kF32 && !is_exact_in_tile(call.op.name(), result)) {
    return fmt::format("results in {} take more bits than f32 has",
                       to_string(result));
  }
  return std::nullopt;
}

std::unique_ptr<PreparedKernel> prepare_elementwise(const OpCall& call) {
  const TensorType& result = call.outputs[0];
  LoopProgram program;
  program.type = *loop_type(call.op.name(), call.inputs, call.outputs);
  program.shape = result.shape;
  const TileOp* found = find_tile_op(call.op.name(), program.type);
  // Only a cast is in no table, as its function depends on both dtypes.
  const TileOp op = found != nullptr ? *found
                                     : tile_cast(call.input(0).dtype,
                                                 result.dtype, program.type);
  LoopProgram::Instruction instruction(op, {});
  if (op.parameters != nullptr) {
    instruction.parameters = op.parameters(call.attributes);
  }
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    program.inputs.push_back({call.inputs[i], std::nullopt});
    instruction.operands.push_back(static_cast<int>(i));
  }
  program.instructions.push_back(std::move(instruction));
  // Values of a program are numbered on from its inputs.
  int last = static_cast<int>(call.inputs.size());
  // Integers are computed in f32 and may leave their range there: a cast to
  // their own dtype wraps them around.
  if (program.type == TileType::kF32 && is_integer(result.dtype) &&
      found != nullptr) {
    const TileOp wrap = tile_cast(result.dtype, result.dtype);
    program.instructions.emplace_back(wrap, std::vector{last++});
  }
  program.outputs.push_back({last, result});
  return std::make_unique<LoopKernel>(std::move(program));
}

}  // namespace

void register_cpu_elementwise(KernelRegistry& registry) {
  const std::string name(kLoopKernel);
  for (const TileOp& op : all_tile_ops()) {
    registry.add({std::string(op.op), name, 10, elementwise_declines,
                  prepare_elementwise});
  }
  registry.add({"cast", name, 10, elementwise_declines, prepare_elementwise});
}

}  // namespace weft
