// Sums of loops, of every length beside that of a tile.
#include <cmath>
#include <gtest/gtest.h>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernels/loop/loop_kernel.h"
#include "weft/tensor/tensor.h"

namespace weft::loop_sums_test {
namespace {

Tensor numbers(const Shape& shape) {
  Tensor x = Tensor::empty({DType::kF32, shape});
  for (Dim i = 0; i < x.size(); ++i) {
    x.data<float>()[i] = static_cast<float>((i * 7919) % 1009) / 512 - 1;
  }
  return x;
}

// The sums of x * row over all axes but the last `kept` of them, for each
// number of `kept`; a row repeats along the last axis.
struct Case {
  Shape shape;
  std::vector<int> kept;
};

Shape last_of(const Shape& shape, int kept) {
  std::vector<Dim> dims;
  for (int axis = shape.rank() - kept; axis < shape.rank(); ++axis) {
    dims.push_back(shape[axis]);
  }
  return Shape(dims);
}

LoopProgram program_of(const Case& each) {
  LoopProgram program;
  program.shape = each.shape;
  program.inputs = {{{DType::kF32, each.shape}, std::nullopt},
                    {{DType::kF32, last_of(each.shape, 1)}, std::nullopt}};
  program.instructions.emplace_back(*find_tile_op("multiply"),
                                    std::vector{0, 1});
  for (const int kept : each.kept) {
    program.outputs.push_back(
        {2, {DType::kF32, last_of(each.shape, kept)}, /*is_sum=*/true});
  }
  return program;
}

std::vector<Tensor> run(LoopKernel& kernel, const LoopProgram& program,
                        const Tensor& x, const Tensor& row) {
  std::vector<Tensor> outputs;
  std::vector<void*> targets;
  for (const auto& output : program.outputs) {
    outputs.push_back(Tensor::empty(output.type));
    targets.push_back(outputs.back().raw());
  }
  std::vector<void*> sources{x.raw(), row.raw()};
  // What scratch memory holds before does not matter.
  std::vector<std::byte> scratch(kernel.scratch_bytes(), std::byte{0xff});
  kernel.run({sources.data(), targets.data(), scratch.data()});
  return outputs;
}

void expect_sums(const Tensor& sums, const Tensor& x, const Tensor& row) {
  std::vector<double> expected(static_cast<std::size_t>(sums.size()));
  for (Dim i = 0; i < x.size(); ++i) {
    expected[static_cast<std::size_t>(i % sums.size())] +=
        x.item(i) * row.item(i % row.size());
  }
  const double count = static_cast<double>(x.size() / sums.size());
  for (Dim i = 0; i < sums.size(); ++i) {
    ASSERT_NEAR(sums.item(i), expected[static_cast<std::size_t>(i)],
                1e-6 * count)
        << "sum " << i << " of " << to_string(sums.type());
  }
}

// Sums within a tile, of some tiles, and of so many that chunks are cut through
// their columns; several of them in one loop; rows that end in a short tile.
TEST(LoopSums, AreRightForEveryLength) {
  const Case cases[] = {
      {{5000, 37}, {1, 0}},       {{300, 1500}, {1}},
      {{3, 5000}, {1}},           {{2, 1 << 17}, {1}},
      {{40, 7, 3000}, {2, 1, 0}}, {{2, 5, 100, 300}, {3, 2}},
      {{6, 90, 1023}, {2}},       {{1, 40000}, {1}},
      {{0, 40000}, {1, 0}},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(to_string(each.shape));
    const LoopProgram program = program_of(each);
    const Tensor x = numbers(each.shape);
    const Tensor row = numbers(last_of(each.shape, 1));
    for (const bool may_generate : {true, false}) {
      LoopKernel kernel(program, {.may_generate = may_generate});
      for (const Tensor& sums : run(kernel, program, x, row)) {
        expect_sums(sums, x, row);
      }
    }
  }
}

TEST(LoopSums, AreTheSameForAnyNumberOfThreads) {
  const Case each{{40, 7, 3000}, {2, 1, 0}};
  const LoopProgram program = program_of(each);
  const Tensor x = numbers(each.shape);
  const Tensor row = numbers(last_of(each.shape, 1));
  const int threads = thread_count();
  set_thread_count(2);
  LoopKernel two(program);
  const auto expected = run(two, program, x, row);
  set_thread_count(1);
  LoopKernel one(program);
  const auto sums = run(one, program, x, row);
  set_thread_count(threads);
  for (std::size_t j = 0; j < sums.size(); ++j) {
    for (Dim i = 0; i < sums[j].size(); ++i) {
      ASSERT_EQ(sums[j].item(i), expected[j].item(i));
    }
  }
}

// A position table of a Transformer is such a sum: as long as an example, and
// of as many numbers as the batch has examples.
TEST(LoopSums, TakeNoMoreMemoryThanTheirLength) {
  constexpr std::size_t kTile = 8192;  // bytes of what workers have besides
  const Case each{{8, 128, 768}, {2}};
  const LoopKernel kernel(program_of(each));
  EXPECT_LE(kernel.scratch_bytes(),
            128 * 768 * sizeof(float) +
                kTile * static_cast<std::size_t>(thread_count()));
}

}  // namespace
}  // namespace weft::loop_sums_test
