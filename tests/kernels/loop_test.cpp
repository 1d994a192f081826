// Loops as generated code and as tiles, whichever the instructions allow.
#include <cmath>
#include <gtest/gtest.h>

#include "weft/kernels/loop/loop_kernel.h"
#include "weft/tensor/tensor.h"

namespace weft {
namespace {

// y = x0 + x1 + …, and each partial sum as a result of its own: more pointers
// than registers.
TEST(Loops, StoreManyHalves) {
  constexpr int kInputs = 9;
  constexpr Dim kSize = 83;  // whole vectors and a rest
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    const TensorType type{dtype, {kSize}};
    LoopProgram program;
    program.shape = type.shape;
    for (int i = 0; i < kInputs; ++i) {
      program.inputs.push_back({type, std::nullopt});
    }
    int last = 0;
    for (int i = 1; i < kInputs; ++i) {
      program.instructions.emplace_back(*find_tile_op("add"),
                                        std::vector{last, i});
      last = kInputs + i - 1;
      program.outputs.push_back({last, type});
    }
    LoopKernel kernel(program);
    std::vector<Tensor> inputs;
    std::vector<Tensor> outputs;
    std::vector<void*> sources;
    std::vector<void*> targets;
    for (int i = 0; i < kInputs; ++i) {
      inputs.push_back(Tensor::empty(type));
      sources.push_back(inputs.back().raw());
      dispatch(dtype, [&]<class T>(T) {
        for (Dim n = 0; n < kSize; ++n) {
          inputs.back().data<T>()[n] = T(static_cast<float>(n % 7 + i));
        }
      });
    }
    for (int i = 1; i < kInputs; ++i) {
      outputs.push_back(Tensor::empty(type));
      targets.push_back(outputs.back().raw());
    }
    const Tensor scratch =
        Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
    kernel.run({sources.data(), targets.data(), scratch.raw()});
    for (Dim n = 0; n < kSize; ++n) {
      double sum = static_cast<double>(n % 7);
      for (int i = 1; i < kInputs; ++i) {
        sum += static_cast<double>(n % 7 + i);
        ASSERT_EQ(outputs[static_cast<std::size_t>(i - 1)].item(n), sum)
            << to_string(dtype) << ", result " << i << ", element " << n;
      }
    }
  }
}

// Halves go to even, NaN stays NaN and infinity infinity.
TEST(Loops, RoundAsTheDtypesDo) {
  const std::vector<float> values = {
      1.00390625f, 1.01171875f, -1.00390626f, 3.4e38f, 65519.0f,
      65521.0f,    1e-40f,      6e-8f,        2.9e-8f, 0.0f,
      -0.0f,       HUGE_VALF,   -HUGE_VALF,   NAN};
  const auto size = static_cast<Dim>(values.size());
  for (const DType dtype : {DType::kBF16, DType::kF16}) {
    LoopProgram program;
    program.shape = {size};
    program.inputs.push_back({{DType::kF32, {size}}, std::nullopt});
    program.instructions.emplace_back(tile_cast(DType::kF32, dtype),
                                      std::vector{0});
    program.outputs.push_back({1, {dtype, {size}}});
    program.outputs.push_back({1, {DType::kF32, {size}}});
    LoopKernel kernel(program);
    const Tensor half = Tensor::empty({dtype, {size}});
    const Tensor wide = Tensor::empty({DType::kF32, {size}});
    void* source = const_cast<float*>(values.data());
    void* targets[] = {half.raw(), wide.raw()};
    const Tensor scratch =
        Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
    kernel.run({&source, targets, scratch.raw()});
    dispatch(dtype, [&]<class T>(T) {
      if constexpr (std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>) {
        for (std::size_t i = 0; i < values.size(); ++i) {
          const auto expected = static_cast<float>(T(values[i]));
          const auto n = static_cast<std::int64_t>(i);
          for (const double actual : {half.item(n), wide.item(n)}) {
            if (std::isnan(expected)) {
              EXPECT_TRUE(std::isnan(actual)) << to_string(dtype);
            } else {
              EXPECT_EQ(actual, static_cast<double>(expected))
                  << to_string(dtype) << " of " << values[i];
            }
          }
        }
      }
    });
  }
}

}  // namespace
}  // namespace weft
