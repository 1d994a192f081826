// Loops as generated code and as tiles, whichever the instructions allow.
#include <bit>
#include <cmath>
#include <cstring>
#include <gtest/gtest.h>
#include <optional>
#include <utility>

#include "weft/base/cpu.h"
#include "weft/base/philox.h"
#include "weft/kernels/loop/loop_kernel.h"
#include "weft/tensor/tensor.h"

namespace weft::loop_test {
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

// A store rounds by itself; whoever else reads a rounded value needs it so.
TEST(Loops, RoundOnceWhatIsOnlyStored) {
  const TensorType narrow{DType::kBF16, {40}};
  const auto operand_of = [&](const LoopProgram::Output& output) {
    LoopProgram program;
    program.shape = narrow.shape;
    program.inputs.push_back({narrow, std::nullopt});
    program.instructions.emplace_back(*find_tile_op("exp"), std::vector{0});
    program.instructions.emplace_back(tile_cast(DType::kBF16, DType::kBF16),
                                      std::vector{1});
    program.outputs.push_back(output);
    const LoopProgram shorter = without_repeated_rounding(program);
    EXPECT_EQ(static_cast<std::size_t>(shorter.outputs[0].operand),
              shorter.instructions.size());
    return shorter.outputs[0].operand;
  };
  EXPECT_EQ(operand_of({2, narrow}), 1);
  EXPECT_EQ(operand_of({2, {DType::kF16, {40}}}), 2);
  EXPECT_EQ(operand_of({2, {DType::kBF16, {}}, true}), 2);

  // What is left of a cast has no instruction, and is code nevertheless.
  LoopProgram cast;
  cast.shape = narrow.shape;
  cast.inputs.push_back({{DType::kF32, {40}}, std::nullopt});
  cast.instructions.emplace_back(tile_cast(DType::kF32, DType::kBF16),
                                 std::vector{0});
  cast.outputs.push_back({1, narrow});
  EXPECT_TRUE(without_repeated_rounding(cast).instructions.empty());
  EXPECT_EQ(LoopKernel(cast).is_generated(),
            instruction_set() >= InstructionSet::kAvx2);

  // The square of the rounded value follows it down by one.
  LoopProgram program;
  program.shape = narrow.shape;
  program.inputs.push_back({narrow, std::nullopt});
  const auto add = [&](const TileOp& op, int operand) {
    program.instructions.emplace_back(op, std::vector{operand});
  };
  add(*find_tile_op("exp"), 0);
  add(tile_cast(DType::kBF16, DType::kBF16), 1);
  add(*find_tile_op("sqrt"), 0);
  add(tile_cast(DType::kBF16, DType::kBF16), 3);
  add(*find_tile_op("square"), 4);
  program.outputs = {{2, narrow}, {4, narrow}, {5, narrow}};
  const LoopProgram shorter = without_repeated_rounding(program);
  ASSERT_EQ(shorter.instructions.size(), 4u);
  EXPECT_EQ(shorter.outputs[0].operand, 1);
  EXPECT_EQ(shorter.outputs[1].operand, 3);
  EXPECT_EQ(shorter.outputs[2].operand, 4);
  EXPECT_EQ(shorter.instructions[3].operands, std::vector{3});
}

// A function between pieces of code, both of whose operands are one value.
TEST(Loops, CallAFunctionOfOneValueTwice) {
  const TensorType type{DType::kF32, {40}};
  LoopProgram program;
  program.shape = type.shape;
  program.inputs.push_back({type, std::nullopt});
  program.instructions.emplace_back(*find_tile_op("add"), std::vector{0, 0});
  program.instructions.emplace_back(*find_tile_op("power"), std::vector{1, 1});
  program.outputs.push_back({2, type});
  LoopKernel kernel(program);
  const Tensor x = Tensor::empty(type);
  const Tensor y = Tensor::empty(type);
  std::fill_n(x.data<float>(), x.size(), 1.5f);
  void* source = x.raw();
  void* target = y.raw();
  const Tensor scratch =
      Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
  kernel.run({&source, &target, scratch.raw()});
  for (Dim i = 0; i < y.size(); ++i) EXPECT_EQ(y.item(i), 27);
}

// What repeats is filled into buffers for each run, which for a thousand
// elements would take longer than a loop of twenty.
TEST(Loops, FillNoMoreThanTheyRead) {
  for (const bool has_sum : {false, true}) {
    LoopProgram program;
    program.shape = {10, 2};
    program.inputs.push_back({{DType::kF32, {10, 2}}, std::nullopt});
    program.inputs.push_back({{DType::kF32, {10, 1}}, std::nullopt});
    program.inputs.push_back({{DType::kF32, {2}}, std::nullopt});
    program.instructions.emplace_back(*find_tile_op("add"), std::vector{0, 1});
    program.instructions.emplace_back(*find_tile_op("add"), std::vector{3, 2});
    program.outputs.push_back({4, {DType::kF32, {10, 2}}});
    if (has_sum) program.outputs.push_back({4, {DType::kF32, {2}}, true});
    // Two buffers of 20 elements, and a sum of as many, in whole vectors.
    EXPECT_LE(LoopKernel(program).scratch_bytes(), 4 * 32 * sizeof(float))
        << has_sum;
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

// Some columns of a value, behind each other.
Tensor columns_of(const Tensor& x, Dim first, Dim width) {
  Shape shape = x.shape();
  const auto all = static_cast<std::size_t>(shape.back()) * size_of(x.dtype());
  shape[shape.rank() - 1] = width;
  const Tensor part = Tensor::empty({x.dtype(), shape});
  const auto own = static_cast<std::size_t>(width) * size_of(x.dtype());
  const auto* from = static_cast<const std::byte*>(x.raw()) +
                     static_cast<std::size_t>(first) * size_of(x.dtype());
  auto* to = static_cast<std::byte*>(part.raw());
  for (std::size_t done = 0; done < part.bytes(); done += own, from += all) {
    std::memcpy(to + done, from, own);
  }
  return part;
}

// The value of which `x` is these columns; all others are of bytes 0x7f.
Tensor among_others(const Tensor& x, const LoopProgram::Columns& columns) {
  Shape shape = x.shape();
  shape[shape.rank() - 1] = columns.row;
  const Tensor whole = Tensor::empty({x.dtype(), shape});
  std::memset(whole.raw(), 0x7f, whole.bytes());
  const auto bytes = [&](Dim count) {
    return static_cast<std::size_t>(count) * size_of(x.dtype());
  };
  const auto* from = static_cast<const std::byte*>(x.raw());
  auto* to = static_cast<std::byte*>(whole.raw()) + bytes(columns.first);
  for (std::size_t done = 0; done < x.bytes(); done += bytes(columns.width)) {
    std::memcpy(to, from + done, bytes(columns.width));
    to += bytes(columns.row);
  }
  return whole;
}

// A loop with random operands, and what it makes of them.
class Runner {
 public:
  explicit Runner(LoopProgram program) : program_(std::move(program)) {
    std::uint64_t drawn = 0;
    for (const auto& input : program_.inputs) {
      if (input.immediate) continue;
      columns_.push_back(input.columns);
      const Tensor x = Tensor::empty(input.type);
      const RandomStream random{7, 0, static_cast<std::uint32_t>(drawn++)};
      dispatch(input.type.dtype, [&]<class T>(T) {
        for (std::int64_t i = 0; i < x.size(); ++i) {
          const float value =
              4 * uniform_from(random.word(static_cast<std::uint64_t>(i))) - 2;
          if constexpr (std::is_same_v<T, bool>)
            x.data<T>()[i] = value > 0;
          else
            x.data<T>()[i] = static_cast<T>(value);
        }
      });
      inputs_.push_back(x);
    }
  }

  const std::vector<Tensor>& inputs() const { return inputs_; }

  // `overwritten`: input `first` is where output `second` is written to.
  std::vector<Tensor> run(const LoopOptions& options,
                          std::optional<std::pair<int, int>> overwritten = {}) {
    LoopKernel kernel(program_, options);
    is_generated = kernel.is_generated();
    std::vector<Tensor> outputs;
    std::vector<Tensor> parts;
    std::vector<void*> sources;
    std::vector<void*> targets;
    for (const auto& output : program_.outputs) {
      outputs.push_back(Tensor::zeros(output.type));
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      Tensor x = inputs_[i];
      if (overwritten && static_cast<std::size_t>(overwritten->first) == i) {
        x = x.clone();
        outputs[static_cast<std::size_t>(overwritten->second)] = x;
      }
      if (columns_[i].empty()) sources.push_back(x.raw());
      Dim first = 0;
      for (const LoopProgram::Columns& columns : columns_[i]) {
        parts.push_back(
            among_others(columns_of(x, first, columns.width), columns));
        sources.push_back(parts.back().raw());
        first += columns.width;
      }
    }
    for (const Tensor& y : outputs) targets.push_back(y.raw());
    const Tensor scratch =
        Tensor::empty({DType::kU8, {static_cast<Dim>(kernel.scratch_bytes())}});
    kernel.run({sources.data(), targets.data(), scratch.raw()});
    return outputs;
  }

  bool is_generated = false;

 private:
  LoopProgram program_;
  std::vector<std::vector<LoopProgram::Columns>> columns_;  // by input
  std::vector<Tensor> inputs_;
};

// Smooth ops, whose results differ by no more than rounding where a product
// and a sum become one multiply-add.
LoopProgram random_program(std::uint32_t seed, int instructions) {
  const RandomStream random{seed, 1, 0};
  std::uint64_t drawn = 0;
  const auto below = [&](int limit) {
    return static_cast<int>(random.word(drawn++) %
                            static_cast<std::uint32_t>(limit));
  };
  constexpr Dim kColumns = 37;
  LoopProgram program;
  program.shape = {Dim{20 + below(40)}, kColumns};
  const Shape column{program.shape[0], 1};
  program.inputs = {{{DType::kF32, program.shape}, std::nullopt},
                    {{DType::kBF16, program.shape}, std::nullopt},
                    {{DType::kF32, {kColumns}}, std::nullopt},
                    {{DType::kF32, column}, std::nullopt},
                    {{DType::kF16, program.shape}, std::nullopt},
                    {{DType::kBool, program.shape}, std::nullopt},
                    {{DType::kF32, {}}, 0.75f}};
  const auto inputs = static_cast<int>(program.inputs.size());
  constexpr std::string_view kOps[] = {
      "add",  "subtract", "multiply", "maximum", "minimum",  "negate",
      "abs",  "relu",     "tanh",     "sigmoid", "clamp",    "erf",
      "gelu", "where",    "sqrt",     "is_nan",  "is_finite"};
  for (int i = 0; i < instructions; ++i) {
    const auto any = [&] { return below(inputs + i); };
    const TileOp& op = *find_tile_op(kOps[static_cast<std::size_t>(below(17))]);
    std::vector<int> operands;
    for (int n = 0; n < op.arity; ++n) operands.push_back(any());
    if (op.op == "where") operands[0] = 5;  // a bool
    if (op.op == "sqrt") operands[0] = 6;   // not below zero
    program.instructions.emplace_back(op, operands);
    // Numbers stay small, so that one tolerance serves all.
    program.instructions.back().parameters = {-3.0f, 3.0f};
    if (op.op == "multiply" || op.op == "add" || op.op == "subtract") {
      program.instructions.emplace_back(*find_tile_op("clamp"),
                                        std::vector{inputs + i});
      program.instructions.back().parameters = {-3.0f, 3.0f};
      ++i;
    }
  }
  const int last = inputs + static_cast<int>(program.instructions.size()) - 1;
  program.outputs.push_back({last, {DType::kF32, program.shape}});
  program.outputs.push_back({last - 1, {DType::kF32, {kColumns}}, true});
  program.outputs.push_back({last - 3, {DType::kF16, program.shape}});
  program.outputs.push_back({last / 2, {DType::kF32, program.shape}});
  program.outputs.push_back({0, {DType::kBF16, program.shape}});
  return program;
}

void expect_near(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.type(), b.type());
  for (std::int64_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a.item(i), b.item(i), tolerance * (1 + std::abs(b.item(i))))
        << "element " << i << " of " << to_string(a.type());
  }
}

// Calls stand between the code, and long programs need more registers than
// there are.
TEST(Loops, ComputeTheSameByCodeAsByTiles) {
  int generated = 0;
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    Runner runner(random_program(seed, 4 + static_cast<int>(seed) * 3));
    const auto code = runner.run({.may_generate = true});
    generated += runner.is_generated ? 1 : 0;
    const auto tiles = runner.run({.may_generate = false});
    EXPECT_FALSE(runner.is_generated);
    for (std::size_t j = 0; j < code.size(); ++j) {
      expect_near(code[j], tiles[j],
                  code[j].dtype() == DType::kF32 ? 2e-3 : 2e-2);
    }
  }
#if defined(__x86_64__)
  EXPECT_EQ(generated, 40);
#endif
}

// The same program without its sum.
LoopProgram without_sum(LoopProgram program) {
  std::erase_if(program.outputs,
                [](const auto& output) { return output.is_sum; });
  return program;
}

// Ties, carries into the exponent, subnormal numbers, and NaN whose payload
// lies in the half that is cut off.
TEST(Loops, RoundToBf16AsTheTypeDoes) {
  std::vector<std::uint32_t> words;
  for (const std::uint32_t sign : {0u, 0x8000u}) {
    for (const std::uint32_t upper :
         {0u, 1u, 0x7eu, 0x7fu, 0x80u, 0x3f80u, 0x3f81u, 0x7f7fu, 0x7f80u}) {
      for (const std::uint32_t lower :
           {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu}) {
        words.push_back((sign | upper) << 16 | lower);
      }
    }
  }
  const auto size = static_cast<Dim>(words.size());
  LoopProgram program;
  program.shape = {size};
  program.inputs.push_back({{DType::kF32, {size}}, std::nullopt});
  program.instructions.emplace_back(tile_cast(DType::kF32, DType::kBF16),
                                    std::vector{0});
  program.instructions.emplace_back(*find_tile_op("negate"), std::vector{1});
  program.outputs = {{0, {DType::kBF16, {size}}}, {2, {DType::kF32, {size}}}};
  Runner runner(program);
  const Tensor& x = runner.inputs()[0];
  std::memcpy(x.raw(), words.data(), x.bytes());
  for (const bool may_generate : {true, false}) {
    const auto y = runner.run({.may_generate = may_generate});
    for (Dim i = 0; i < size; ++i) {
      const float number = x.data<float>()[i];
      const bfloat16 expected(number);
      SCOPED_TRACE(fmt::format("{:#x}", words[static_cast<std::size_t>(i)]));
      ASSERT_EQ(std::bit_cast<std::uint16_t>(y[0].data<bfloat16>()[i]),
                std::bit_cast<std::uint16_t>(expected));
      if (std::isnan(number)) {
        ASSERT_TRUE(std::isnan(y[1].data<float>()[i]));
      } else {
        ASSERT_EQ(y[1].data<float>()[i], -static_cast<float>(expected));
      }
    }
  }
}

// Rows of 37 numbers begin and end within a line of the cache.
TEST(Loops, StoreTheSamePastTheCaches) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    Runner runner(
        without_sum(random_program(seed, 4 + static_cast<int>(seed) * 3)));
    for (const bool may_generate : {true, false}) {
      const auto expected = runner.run({.may_generate = may_generate});
      const auto found =
          runner.run({.may_generate = may_generate, .streamed_from = 0});
      for (std::size_t j = 0; j < found.size(); ++j) {
        EXPECT_TRUE(identical(found[j], expected[j])) << "output " << j;
      }
    }
  }
}

// A row that is as long as a tile, or longer than one that is streamed.
TEST(Loops, StreamRowsOfAnyLength) {
  for (const Dim columns : {500, 512, 700, 1024, 1500}) {
    const Shape shape{5, columns};
    for (const TileType type : {TileType::kF32, TileType::kI64}) {
      const DType own = dtype_of(type);
      LoopProgram program;
      program.type = type;
      program.shape = shape;
      program.inputs = {
          {{own, shape}, std::nullopt},
          {{type == TileType::kF32 ? DType::kBF16 : DType::kI32, {columns}},
           std::nullopt}};
      program.instructions.emplace_back(*find_tile_op("add", type),
                                        std::vector{0, 1});
      program.outputs.push_back({2, {own, shape}});
      Runner runner(program);
      const auto expected = runner.run({});
      const auto found = runner.run({.streamed_from = 0});
      EXPECT_TRUE(identical(found[0], expected[0])) << columns << " columns";
    }
  }
}

// Code reads one number for a row where rows are long.
TEST(Loops, ReadColumnsOfAnyShape) {
  for (const Dim columns : {8, 255, 256, 300, 1024, 1500}) {
    const Shape shape{2, 3, columns};
    LoopProgram program;
    program.shape = shape;
    for (const Shape& input :
         {shape, Shape{3, 1}, Shape{2, 1, 1}, Shape{2, 3, 1}, Shape{columns},
          Shape{3, columns}, Shape{2, 1, columns}}) {
      program.inputs.push_back({{DType::kF32, input}, std::nullopt});
    }
    int last = 0;
    const auto inputs = static_cast<int>(program.inputs.size());
    for (int i = 1; i < inputs; ++i) {
      program.instructions.emplace_back(*find_tile_op("add"),
                                        std::vector{last, i});
      last = inputs + i - 1;
    }
    program.outputs.push_back({last, {DType::kF32, shape}});
    Runner runner(program);
    const auto tiles = runner.run({.may_generate = false});
    EXPECT_TRUE(identical(runner.run({})[0], tiles[0])) << columns;
    EXPECT_TRUE(identical(runner.run({.streamed_from = 0})[0], tiles[0]))
        << columns;
    program.outputs.push_back({last, {DType::kF32, {3, columns}}, true});
    Runner summing(program);
    const auto code = summing.run({});
    const auto sums = summing.run({.may_generate = false});
    EXPECT_TRUE(identical(code[0], tiles[0])) << columns;
    expect_near(code[1], sums[1], 1e-6);
  }
}

// Columns that are read side by side give the bits of one value that has them,
// whatever their number, wherever they begin in rows, wherever tiles begin.
TEST(Loops, ReadColumnsOfOneOrSeveralValues) {
  for (const auto& parts : std::vector<std::vector<LoopProgram::Columns>>{
           {{3, 3}, {40, 40}, {1, 1}},
           {{64, 64}, {64, 64}},
           {{16, 16}, {0, 0}, {700, 700}},
           {{1100, 1100}, {5, 5}},
           {{12, 216}},
           {{1, 7, 6}},
           {{204, 216}},
           {{1100, 1300, 100}},
           {{24, 30, 3}, {7, 7}}}) {
    Dim columns = 0;
    for (const LoopProgram::Columns& part : parts) columns += part.width;
    const Shape shape{7, 9, columns};
    for (const auto& [type, dtype] : {std::pair{TileType::kF32, DType::kF32},
                                      {TileType::kF32, DType::kBF16},
                                      {TileType::kF64, DType::kF64},
                                      {TileType::kI64, DType::kI32}}) {
      const DType own = dtype_of(type);
      LoopProgram program;
      program.type = type;
      program.shape = shape;
      program.inputs = {{{dtype, shape}, std::nullopt},
                        {{own, {columns}}, std::nullopt},
                        {{own, shape}, std::nullopt}};
      program.instructions.emplace_back(*find_tile_op("multiply", type),
                                        std::vector{0, 1});
      program.instructions.emplace_back(*find_tile_op("add", type),
                                        std::vector{3, 2});
      program.outputs.push_back({4, {own, shape}});
      program.outputs.push_back({4, {own, {columns}}, true});
      const LoopProgram whole = program;
      program.inputs[0].columns = parts;
      for (const bool may_generate : {true, false}) {
        const auto expected = Runner(whole).run({may_generate});
        const auto found = Runner(program).run({may_generate});
        EXPECT_TRUE(identical(found[0], expected[0])) << to_string(dtype);
        expect_near(found[1], expected[1], 1e-5);
      }
      LoopProgram plain = program;
      plain.outputs.pop_back();
      const auto expected = Runner(whole).run({});
      EXPECT_TRUE(
          identical(Runner(plain).run({.streamed_from = 0})[0], expected[0]));
    }
  }
}

// What may be overwritten, according to the kernel, may be.
TEST(Loops, OverwriteWhatTheySayTheyMay) {
  int allowed = 0;
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const LoopProgram program =
        random_program(seed, 4 + static_cast<int>(seed) * 3);
    for (const bool may_generate : {true, false}) {
      const LoopOptions options{.may_generate = may_generate};
      const LoopKernel kernel(program, options);
      Runner runner(program);
      const auto expected = runner.run(options);
      for (const auto& [input, output] :
           {std::pair{0, 0}, {0, 3}, {1, 4}, {4, 2}}) {
        if (!kernel.can_overwrite(static_cast<std::size_t>(input),
                                  static_cast<std::size_t>(output))) {
          continue;
        }
        ++allowed;
        const auto found = runner.run(options, std::pair{input, output});
        for (std::size_t j = 0; j < found.size(); ++j) {
          ASSERT_TRUE(identical(found[j], expected[j]))
              << "seed " << seed << ", output " << j << ", input " << input
              << " overwritten by " << output;
        }
      }
    }
  }
  EXPECT_GT(allowed, 40);
}

}  // namespace
}  // namespace weft::loop_test
