// Where no code generator exists for the processor.
#include "weft/kernels/loop/loop_code.h"

namespace weft {

bool LoopCode::covers(const LoopProgram&, std::span<const CodeOperand>) {
  return false;
}

std::unique_ptr<LoopCode> LoopCode::compile(const LoopProgram&,
                                            std::span<const CodeOperand>,
                                            LoopStores) {
  return nullptr;
}

}  // namespace weft
