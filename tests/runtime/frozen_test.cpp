// Executables whose parameters do not change.
#include "weft/graph/frozen.h"

#include <cmath>
#include <functional>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/op_case.h"

#include "weft/graph/builder.h"
#include "weft/graph/program.h"
#include "weft/graph/text.h"
#include "weft/ops/control.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/tensor/symbol.h"

namespace weft::frozen_test {
namespace {

using test::expect_error;

constexpr Dim kHidden = 40;

// (x, weights with x and with the state) -> the states of a GRU.
Function layer() {
  const auto f32 = [](Shape shape) { return TensorType{DType::kF32, shape}; };
  FunctionBuilder builder("layer");
  const Value x = builder.parameter(f32({12, 1, kHidden}), "x");
  const Value w_ih = builder.parameter(f32({kHidden, 3 * kHidden}), "w_ih");
  const Value w_hh = builder.parameter(f32({kHidden, 3 * kHidden}), "w_hh");
  return builder.build([&] {
    const Value h = full(f32({1, kHidden}), 0.5);
    const Value bias = full(f32({3 * kHidden}), 0.1);
    return std::vector<Value>{gru(x, h, w_ih, w_hh, bias, bias)[0]};
  });
}

Tensor numbers(const TensorType& type, float step) {
  const Tensor tensor = Tensor::empty(type);
  for (Dim i = 0; i < tensor.size(); ++i) {
    tensor.data<float>()[i] = 0.2f * std::sin(step * static_cast<float>(i));
  }
  return tensor;
}

std::vector<Tensor> arguments_of(const Function& function) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    arguments.push_back(numbers(function.type(id),
                                1.3f + static_cast<float>(arguments.size())));
  }
  return arguments;
}

TEST(Frozen, WeightsArePackedOnceAndGiveTheSameBits) {
  const Function function = layer();
  const auto arguments = arguments_of(function);
  Executable plain(function);
  Executable frozen(function,
                    {.frozen = {{1, arguments[1]}, {2, arguments[2]}}});
  EXPECT_TRUE(identical(plain.run(arguments)[0], frozen.run(arguments)[0]));
  const auto kernel_of = [&](Executable& executable) {
    std::string kernel;
    for (const StepInfo& step : executable.plan_for(arguments).steps()) {
      if (step.name == "gru") kernel = step.kernel;
    }
    return kernel;
  };
  EXPECT_NE(kernel_of(frozen).find("packed once"), std::string::npos)
      << kernel_of(frozen);
  EXPECT_EQ(kernel_of(plain).find("packed once"), std::string::npos)
      << kernel_of(plain);
  // The signature is as it was.
  EXPECT_EQ(to_string(frozen.function()), to_string(function));
}

// (x, w, then vectors of channels) -> what `body` makes of it; the steps of a
// plan with all but x frozen, which must compute what it does op by op.
std::string steps_if_frozen(
    const TensorType& x, const Shape& w, std::size_t vectors,
    const std::function<Value(const std::vector<Value>&)>& body,
    const std::vector<std::string>& without = {}) {
  FunctionBuilder builder("f");
  std::vector<Value> p = {builder.parameter(x),
                          builder.parameter({DType::kF32, w})};
  for (std::size_t i = 0; i < vectors; ++i) {
    p.push_back(builder.parameter({DType::kF32, {w.back()}}));
  }
  const Function function = builder.build([&] { return std::vector{body(p)}; });
  std::vector<Tensor> arguments;
  Frozen frozen;
  for (std::size_t i = 0; i < p.size(); ++i) {
    arguments.push_back(
        testing::random_tensor({.type = function.type(function.parameters()[i]),
                                .low = 0.5,
                                .high = 1},
                               i));
    if (i > 0) frozen.emplace_back(i, arguments.back());
  }
  Executable served(function, {.frozen = frozen, .without = without});
  testing::expect_close(served.run(arguments)[0],
                        Executable(function, {.fuse = false}).run(arguments)[0],
                        256);
  std::string steps;
  for (const StepInfo& step : served.plan_for(arguments).steps()) {
    steps += (steps.empty() ? "" : "; ") + step.name;
  }
  return steps;
}

// What is done to each channel behind a product or a convolution is a part of
// its weights and its bias, however it was written.
TEST(Frozen, ScalesOfChannelsArePartOfWeights) {
  const TensorType image{DType::kF32, {2, 6, 5, 3}};
  const Shape kernel{3, 3, 3, 8};
  const auto norm = [](const std::vector<Value>& p) {
    return relu(
        batch_norm_infer(conv2d(p[0], p[1]), p[2], p[3], p[4], p[5], 1e-3));
  };
  EXPECT_EQ(steps_if_frozen(image, kernel, 4, norm), "conv2d");
  EXPECT_NE(steps_if_frozen(image, kernel, 4, norm, {"fold_batch_norm"}),
            "conv2d");
  // A bias, and batch norm as imported graphs have it.
  EXPECT_EQ(steps_if_frozen(image, kernel, 5,
                            [](const std::vector<Value>& p) {
                              const Value y = conv2d(p[0], p[1]) + p[2];
                              const Value s = p[3] * rsqrt(p[4] + 1e-3);
                              return relu((y - p[5]) * s + p[6]);
                            }),
            "conv2d");
  EXPECT_EQ(steps_if_frozen(image, kernel, 3,
                            [](const std::vector<Value>& p) {
                              const Value y = conv2d(p[0], p[1]) / p[2];
                              return y * reshape(p[3], {1, 1, 8}) - p[4];
                            }),
            "conv2d");
  EXPECT_EQ(steps_if_frozen(
                {DType::kF32, {2, 4, 7}}, {7, 8}, 4,
                [](const std::vector<Value>& p) {
                  const Value y = reshape(matmul(p[0], p[1]), {8, 8});
                  return batch_norm_infer(y, p[2], p[3], p[4], p[5], 1e-3);
                }),
            "matmul");
}

// Weights that mixed precision casts are scaled before they are rounded, so
// that the plan is that of the convolution alone, which processors without bf16
// compute between two casts.
TEST(Frozen, ScalesOfChannelsArePartOfCastWeights) {
  const TensorType image{DType::kBF16, {2, 6, 5, 3}};
  const Shape kernel{1, 1, 3, 8};
  const auto convolution = [](const std::vector<Value>& p) {
    return conv2d(p[0], cast(p[1], DType::kBF16));
  };
  EXPECT_EQ(steps_if_frozen(image, kernel, 4,
                            [&](const std::vector<Value>& p) {
                              return batch_norm_infer(convolution(p), p[2],
                                                      p[3], p[4], p[5], 1e-3);
                            }),
            steps_if_frozen(image, kernel, 0, convolution));
}

// What changes from run to run cannot be folded once.
TEST(Frozen, ScalesThatChangeStayWhereTheyAre) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {4, 6}}, "x");
  const Value w = builder.parameter({DType::kF32, {6, 8}}, "w");
  const Value s = builder.parameter({DType::kF32, {8}}, "s");
  const Function function =
      builder.build([&] { return std::vector{matmul(x, w) * s}; });
  const auto arguments = arguments_of(function);
  Executable served(function, {.frozen = {{1, arguments[1]}}});
  EXPECT_EQ(served.plan_for(arguments).steps().size(), 2u);
}

TEST(Frozen, AnotherTensorInItsPlaceIsRefused) {
  const Function function = layer();
  auto arguments = arguments_of(function);
  Executable frozen(function, {.frozen = {{2, arguments[2]}}});
  frozen.run(arguments);
  arguments[2] = arguments[2].clone();
  expect_error(ErrorCode::kInvalidArgument, {"'w_hh'", "another tensor"},
               [&] { frozen.run(arguments); });
  // What is not frozen may be any.
  arguments = arguments_of(function);
  Executable other(function, {.frozen = {{2, arguments[2]}}});
  arguments[1] = arguments[1].clone();
  other.run(arguments);
}

TEST(Frozen, WhatIsOverwrittenOrOfAnotherTypeIsRefused) {
  FunctionBuilder builder("next");
  const Value x = builder.parameter({DType::kF32, {3}}, "state");
  const Function function =
      builder.build([&] { return std::vector<Value>{x + x}; });
  const Tensor value = numbers({DType::kF32, {3}}, 1);
  expect_error(ErrorCode::kInvalidArgument, {"'state'", "donated"}, [&] {
    Executable(function, {.donated = {{0, 0}}, .frozen = {{0, value}}});
  });
  expect_error(ErrorCode::kInvalidArgument, {"'state'", "f32[4]"}, [&] {
    Executable(function, {.frozen = {{0, numbers({DType::kF32, {4}}, 1)}}});
  });
}

// An unrolled layer reads one matrix in each step.
TEST(Frozen, WeightsOfAllStepsAndPlansArePackedOnce) {
  constexpr Dim kWidth = 512;
  constexpr int kSteps = 16;
  const Tensor weights = Tensor::zeros({DType::kF32, {kWidth, kWidth}});
  FunctionBuilder builder("layer");
  const Value x = builder.parameter({DType::kF32, {1, kWidth}}, "x");
  const Value w = builder.parameter(weights.type(), "w");
  const Function function = builder.build([&] {
    Value h = x;
    for (int i = 0; i < kSteps; ++i) h = tanh(matmul(h, w));
    return std::vector{h};
  });
  const std::vector arguments{Tensor::zeros({DType::kF32, {1, kWidth}}),
                              weights};
  std::vector<std::unique_ptr<Executable>> plans;
  const auto before = live_bytes();
  for (int i = 0; i < 2; ++i) {
    plans.push_back(std::make_unique<Executable>(
        function, ExecutableOptions{.frozen = {{1, weights}}}));
    plans.back()->run(arguments);
  }
  const auto copy = static_cast<std::int64_t>(weights.bytes());
  const auto held = live_bytes() - before;
  EXPECT_GE(held, copy);  // it is packed
  EXPECT_LT(held, 2 * copy);
}

// The number of examples is told by a run alone, also where no operand has it.
TEST(Frozen, WhatHasSymbolsIsComputedInEachRun) {
  const Dim n = symbol("N");
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {n, 3}}, "x");
  const Value w = builder.parameter({DType::kF32, {7, 3}}, "w");
  const Value b = builder.parameter({DType::kF32, {3}}, "b");
  const Function function = builder.build([&] {
    const Value count = element_count({n}, DType::kI64);
    return std::vector<Value>{x + gather(w, reshape(count, {1})),
                              gather(w, iota(n)), broadcast_to(b, {n, 3}),
                              full({DType::kF32, {n, 3}}, 2) * b};
  });
  std::vector<Tensor> arguments = {numbers({DType::kF32, {2, 3}}, 1.3f),
                                   numbers({DType::kF32, {7, 3}}, 2.3f),
                                   numbers({DType::kF32, {3}}, 3.3f)};
  Executable plain(function);
  Executable frozen(function,
                    {.frozen = {{1, arguments[1]}, {2, arguments[2]}}});
  for (const Dim rows : {2, 4}) {
    arguments[0] = numbers({DType::kF32, {rows, 3}}, 1.3f);
    const auto expected = plain.run(arguments);
    const auto results = frozen.run(arguments);
    for (std::size_t i = 0; i < results.size(); ++i) {
      EXPECT_TRUE(identical(results[i], expected[i])) << i;
    }
  }
}

TEST(Frozen, FunctionsThatLoopTakeThemToo) {
  const TensorType type{DType::kF32, {3}};
  Program program;
  program.define("main", {type, type}, [](const std::vector<Value>& v) {
    const auto last = while_loop(
        {full({DType::kI64, {}}, 0), v[0]},
        [](const std::vector<Value>& now) {
          return less(now[0], full({DType::kI64, {}}, 4));
        },
        [&](const std::vector<Value>& now) {
          return std::vector<Value>{now[0] + 1, now[1] + v[1]};
        });
    return std::vector<Value>{last[1]};
  });
  const Graph graph = program.build();
  const Tensor x = numbers({DType::kF32, {3}}, 1);
  const Tensor weight = numbers({DType::kF32, {3}}, 2);
  Executable frozen(graph, "main", {.frozen = {{1, weight}}});
  EXPECT_TRUE(frozen.is_tagged());
  const auto results = frozen.run(std::vector{x, weight});
  for (Dim i = 0; i < 3; ++i) {
    EXPECT_NEAR(results[0].item(i), x.item(i) + 4 * weight.item(i), 1e-6);
  }
  expect_error(ErrorCode::kInvalidArgument, {"another tensor"}, [&] {
    frozen.run(std::vector{x, weight.clone()});
  });
}

}  // namespace
}  // namespace weft::frozen_test
