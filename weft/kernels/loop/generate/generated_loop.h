// The code that a generator (generator.h) has written, and who asks for it.
#pragma once

#include <memory>

#include "weft/kernels/loop/loop_code.h"

namespace weft {

template <class Generator>
class GeneratedLoop : public LoopCode {
 public:
  GeneratedLoop(const LoopProgram& program, std::span<const CodeOperand> inputs,
                LoopStores stores)
      : generator_(program, inputs, stores) {
    generator_.generate();
    function_ = generator_.template getCode<Function>();
  }

  void run(void* const* pointers, std::int64_t size) const noexcept override {
    function_(pointers, size);
  }

 private:
  using Function = void (*)(void* const*, std::int64_t);

  Generator generator_;
  Function function_ = nullptr;
};

// As LoopCode::compile(), for the instruction set at hand.
std::unique_ptr<LoopCode> compile_avx512(const LoopProgram& program,
                                         std::span<const CodeOperand> inputs,
                                         LoopStores stores);
std::unique_ptr<LoopCode> compile_avx2(const LoopProgram& program,
                                       std::span<const CodeOperand> inputs,
                                       LoopStores stores);

}  // namespace weft
