// Results of loops that go past the caches, wherever they are to lie.
#include <array>
#include <gtest/gtest.h>

#include "weft/kernels/loop/loop_kernel.h"
#include "weft/tensor/tensor.h"

namespace weft::loop_streaming_test {
namespace {

// Vectors are stored past the caches where they fill whole lines, and nowhere
// else: the processor traps if they do not.
TEST(LoopStreaming, GoesToAnyPlace) {
  constexpr Dim kSize = 9001;
  constexpr Dim kRoom = 32;
  LoopProgram program;
  program.shape = {kSize};
  program.inputs = {{{DType::kF32, {kSize}}, std::nullopt}};
  program.instructions.emplace_back(*find_tile_op("add"), std::vector{0, 0});
  program.outputs.push_back({1, {DType::kF32, {kSize}}});
  LoopKernel kernel(program, {.streamed_from = 0});
  const Tensor x = Tensor::empty({DType::kF32, {kSize}});
  for (Dim i = 0; i < kSize; ++i) {
    x.data<float>()[i] = static_cast<float>(i);
  }
  const Tensor scratch =
      Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
  for (const Dim place : {0, 1, 8, 15, 16}) {
    const Tensor y = Tensor::zeros({DType::kF32, {kSize + kRoom}});
    const std::array<void*, 1> sources{x.raw()};
    const std::array<void*, 1> targets{y.data<float>() + place};
    kernel.run({sources.data(), targets.data(), scratch.raw()});
    for (Dim i = 0; i < kSize + kRoom; ++i) {
      const bool is_result = i >= place && i < place + kSize;
      ASSERT_EQ(y.data<float>()[i],
                is_result ? 2 * static_cast<float>(i - place) : 0)
          << "place " << place << ", element " << i;
    }
  }
}

}  // namespace
}  // namespace weft::loop_streaming_test
