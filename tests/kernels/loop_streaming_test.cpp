// Results of loops that go past the caches, wherever they are to lie.
#include <array>
#include <gtest/gtest.h>
#include <limits>

#include "weft/kernels/loop/loop_kernel.h"
#include "weft/tensor/tensor.h"

namespace weft::loop_streaming_test {
namespace {

constexpr Dim kSize = 9001;
constexpr Dim kRoom = 32;
const TensorType kType{DType::kF32, {kSize}};

struct Step {
  std::string_view op;
  std::vector<int> operands;  // 0 is what the loop reads, 1 the first step
};

LoopProgram program_of(const std::vector<Step>& steps,
                       const std::vector<int>& results) {
  LoopProgram program;
  program.shape = {kSize};
  program.inputs = {{kType, std::nullopt}};
  for (const Step& step : steps) {
    program.instructions.emplace_back(*find_tile_op(step.op), step.operands);
  }
  for (const int result : results) program.outputs.push_back({result, kType});
  return program;
}

// The results of a kernel, each `place` numbers into a tensor of zeros.
std::vector<Tensor> results_of(LoopKernel& kernel, std::size_t count,
                               const Tensor& x, Dim place) {
  std::vector<Tensor> results;
  std::vector<void*> targets;
  for (std::size_t i = 0; i < count; ++i) {
    results.push_back(Tensor::zeros({DType::kF32, {kSize + kRoom}}));
    targets.push_back(results.back().data<float>() + place);
  }
  const Tensor scratch =
      Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
  const std::array<void*, 1> sources{x.raw()};
  kernel.run({sources.data(), targets.data(), scratch.raw()});
  return results;
}

// Vectors are stored past the caches where they fill whole lines, and nowhere
// else: the processor traps if they do not.
void expect_same_anywhere(const std::vector<Step>& steps,
                          const std::vector<int>& outputs) {
  const LoopProgram program = program_of(steps, outputs);
  LoopKernel streaming(program, {.streamed_from = 0});
  LoopKernel cached(
      program, {.streamed_from = std::numeric_limits<std::uint64_t>::max()});
  const Tensor x = Tensor::empty(kType);
  for (Dim i = 0; i < kSize; ++i) {
    x.data<float>()[i] = static_cast<float>(i) * 1e-3f - 4;
  }
  for (const Dim place : {0, 1, 8, 15, 16}) {
    const auto got = results_of(streaming, outputs.size(), x, place);
    const auto wanted = results_of(cached, outputs.size(), x, place);
    for (std::size_t j = 0; j < outputs.size(); ++j) {
      for (Dim i = 0; i < kSize + kRoom; ++i) {
        ASSERT_EQ(got[j].data<float>()[i], wanted[j].data<float>()[i])
            << "place " << place << ", result " << j << ", element " << i;
      }
      ASSERT_NE(got[j].data<float>()[place], 0);
    }
  }
}

TEST(LoopStreaming, CodeStoresAnywhere) {
  expect_same_anywhere({{"add", {0, 0}}}, {1});
}

TEST(LoopStreaming, FunctionsStoreAnywhere) {
  expect_same_anywhere({{"tanh", {0}}}, {1});
  expect_same_anywhere({{"tanh", {0}}, {"exp", {1}}}, {2});
}

TEST(LoopStreaming, FunctionsBetweenCodeStoreAnywhere) {
  expect_same_anywhere({{"add", {0, 0}}, {"tanh", {1}}}, {2});
  expect_same_anywhere({{"tanh", {0}}, {"add", {1, 0}}}, {2});
  expect_same_anywhere({{"add", {0, 0}}, {"tanh", {1}}, {"add", {2, 0}}}, {3});
}

TEST(LoopStreaming, ResultsAreReadAgain) {
  expect_same_anywhere({{"tanh", {0}}, {"exp", {1}}}, {1, 2});
  expect_same_anywhere({{"add", {0, 0}}, {"tanh", {1}}}, {1, 2});
  expect_same_anywhere({{"tanh", {0}}, {"add", {1, 0}}}, {1, 2});
}

}  // namespace
}  // namespace weft::loop_streaming_test
