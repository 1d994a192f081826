#include "weft/runtime/executable.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/base/parallel.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"

namespace weft::executable_test {
namespace {

using test::near;
using test::pattern;

// Runs `body` eagerly, and staged with and without fusion.
void expect_same(
    const std::vector<Tensor>& arguments,
    const std::function<std::vector<Value>(const std::vector<Value>&)>& body,
    double tolerance = 1e-5) {
  const std::vector<Value> eager = body({arguments.begin(), arguments.end()});
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    std::vector<Value> parameters;
    for (const Tensor& argument : arguments) {
      parameters.push_back(builder.parameter(argument.type()));
    }
    return body(parameters);
  });
  Executable fused(function);
  Executable plain(function, {.donated = {}, .check_numerics = true});
  const auto fused_results = fused.run(arguments);
  const auto plain_results = plain.run(arguments);
  ASSERT_EQ(fused_results.size(), eager.size());
  for (std::size_t i = 0; i < eager.size(); ++i) {
    EXPECT_TRUE(near(fused_results[i], eager[i].tensor(), tolerance))
        << "fused result " << i << "\n"
        << to_string(function);
    EXPECT_TRUE(near(plain_results[i], eager[i].tensor(), tolerance))
        << "plain result " << i;
  }
}

// Fused with others an op is part of a loop; alone it runs by its best kernel.
TEST(Executable, RunsALoneOpByAKernelOfItsOwn) {
  const auto kernel_of = [](auto body) {
    FunctionBuilder builder("f");
    Executable executable(builder.build([&] {
      return std::vector<Value>{
          body(builder.parameter({DType::kBool, {64}}, "x"))};
    }));
    const Tensor x = Tensor::zeros({DType::kBool, {64}});
    const auto& steps = executable.plan_for({&x, 1}).steps();
    EXPECT_EQ(steps.size(), 1u);
    return steps[0].kernel;
  };
  EXPECT_EQ(kernel_of([](auto x) { return logical_not(x); }), "cpu:bytes");
  EXPECT_EQ(kernel_of([](auto x) {
              return logical_and(logical_not(x), x);
            }).substr(0, 5),
            "loop:");
}

TEST(Executable, RunsAChainAsOneLoop) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {64, 32}}, "x");
    return std::vector{relu(x * 2.0 + 1.0)};
  });
  Executable executable(function);
  const Tensor x = pattern({64, 32});
  EXPECT_EQ(executable.plan_for({&x, 1}).steps().size(), 1u);
  const Tensor y = executable.run({&x, 1})[0];
  for (std::int64_t i = 0; i < x.size(); ++i) {
    EXPECT_FLOAT_EQ(y.data<float>()[i],
                    std::max(0.0f, x.data<float>()[i] * 2 + 1));
  }
}

TEST(Executable, KeepsThePlansThatWereUsedLast) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {symbol("N")}}, "x");
    return std::vector{x * 2.0};
  });
  ExecutableOptions options;
  options.most_plans = 2;
  Executable executable(function, options);
  const auto plan_of = [&](std::int64_t size) {
    const Tensor x = pattern({size});
    EXPECT_TRUE(near(executable.run({&x, 1})[0], (Value(x) * 2.0).tensor(), 0));
    return &executable.plan_for({&x, 1});
  };
  const Plan* three = plan_of(3);
  const Plan* five = plan_of(5);
  EXPECT_EQ(plan_of(3), three);
  EXPECT_EQ(plan_of(5), five);
  EXPECT_EQ(plan_of(3), three);
  plan_of(7);  // in the place of the plan for 5
  EXPECT_EQ(plan_of(3), three);
  EXPECT_EQ(plan_of(5)->result_types()[0].shape, Shape{5});
}

TEST(Executable, RunsOnWhereThereWasNoMemoryForOtherShapes) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Dim n = symbol("N");
    const Value x = builder.parameter({DType::kF32, {n}}, "x");
    return std::vector{
        sum(tanh(matmul(reshape(x, {n, 1}), reshape(x, {1, n}))))};
  });
  Executable executable(function);
  const auto run = [&](const Tensor& x) { return executable.run({&x, 1})[0]; };
  const Tensor few = pattern({3});
  const Tensor expected = run(few);
  // The product of these would take 2^50 bytes.
  const Tensor many = Tensor::empty({DType::kF32, {Dim{1} << 24}});
  test::expect_error(ErrorCode::kExhausted, {"refused"}, [&] { run(many); });
  EXPECT_TRUE(identical(run(few), expected));
}

TEST(Executable, BroadcastsEveryWay) {
  expect_same({pattern({6, 5, 7}), pattern({7}), pattern({5, 1}),
               pattern({6, 1, 1}), pattern({}), pattern({6, 1, 7})},
              [](const auto& v) {
                return std::vector{(v[0] + v[1]) * v[2] - v[3] * v[4] + v[5],
                                   v[1] * v[2]};
              });
}

TEST(Executable, BroadcastsPeriodsLongerThanATile) {
  expect_same({pattern({3, 700}), pattern({700}), pattern({3, 1})},
              [](const auto& v) {
                return std::vector{v[0] * v[1] + v[2], sum(v[0] * v[1], {0}),
                                   sum(v[0])};
              });
}

TEST(Executable, SumsOverLeadingAxesInsideTheLoop) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {128, 8, 16}}, "x");
    const Value y = square(x);
    return std::vector{sum(y, {0, 1}), mean(y, {0, 1}, true), sum(y)};
  });
  const Tensor x = pattern({128, 8, 16});
  Executable executable(function);
  EXPECT_EQ(executable.plan_for({&x, 1}).steps().size(), 1u);
  expect_same({x}, [](const auto& v) {
    const Value y = square(v[0]);
    return std::vector{sum(y, {0, 1}), mean(y, {0, 1}, true), sum(y)};
  });
}

TEST(Executable, ASumThatFeedsItsOwnOperandSplitsTheLoop) {
  expect_same({pattern({512, 16}), pattern({16})}, [](const auto& v) {
    const Value centered = v[0] - mean(v[0], {0});
    const Value variance = mean(square(centered), {0});
    return std::vector{centered * rsqrt(variance + 1e-5) * v[1]};
  });
}

TEST(Executable, RecomputesCheapValuesInsteadOfStoringThem) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {4096, 16}}, "x");
    const Value centered = x - mean(x, {0});
    return std::vector{centered * rsqrt(mean(square(centered), {0}))};
  });
  const Tensor x = pattern({4096, 16});
  Executable executable(function);
  // Only the vectors of 16 are ever stored.
  EXPECT_LT(executable.plan_for({&x, 1}).unshared_bytes(), 4096u);
}

TEST(Executable, PlansEveryBatchSizeOnce) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {symbol("N"), 3}}, "x");
    return std::vector{sum(x * 2.0, {1})};
  });
  Executable executable(function);
  for (const std::int64_t n : {5, 2, 5, 9}) {
    const Tensor x = pattern({n, 3});
    EXPECT_EQ(executable.run({&x, 1})[0].shape(), Shape{n});
  }
}

TEST(Executable, DonationUpdatesInPlace) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value w = builder.parameter({DType::kF32, {1000}}, "w");
    const Value g = builder.parameter({DType::kF32, {1000}}, "g");
    return std::vector{w - g * 0.1};
  });
  Executable executable(function, {.donated = {{0, 0}}});
  const Tensor w = pattern({1000});
  const Tensor before = w.clone();
  const std::vector<Tensor> arguments{w, pattern({1000}, -1, 1, 2)};
  const auto results = executable.run(arguments);
  EXPECT_TRUE(results[0].shares_memory_with(w));
  for (std::int64_t i = 0; i < 1000; ++i) {
    // The kernel or the compiler may fuse the product and the difference: a
    // rounding less, of values up to 1.1.
    EXPECT_NEAR(w.data<float>()[i],
                before.data<float>()[i] - 0.1f * arguments[1].data<float>()[i],
                1.2e-7);
  }
}

TEST(Executable, RefusesToDonateTwice) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value a = builder.parameter({DType::kF32, {4}}, "a");
    const Value b = builder.parameter({DType::kF32, {4}}, "b");
    return std::vector{a + b, a * b};
  });
  using Donated = std::vector<std::pair<std::size_t, std::size_t>>;
  for (const Donated& donated :
       {Donated{{0, 0}, {0, 1}}, Donated{{0, 0}, {1, 0}}}) {
    test::expect_error(ErrorCode::kInvalidArgument,
                       {"shares memory with another"},
                       [&] { Executable(function, {.donated = donated}); });
  }
}

TEST(Executable, DonationWaitsForReadersOfTheOldValue) {
  FunctionBuilder builder("f");
  // The second result reads w after the first is computed.
  const Function function = builder.build([&] {
    const Value w = builder.parameter({DType::kF32, {4, 4}}, "w");
    const Value updated = w + 1.0;
    return std::vector{updated, transpose(w, {1, 0}) * sum(updated)};
  });
  Executable executable(function, {.donated = {{0, 0}}});
  const Tensor w = pattern({4, 4});
  const Tensor old = w.clone();
  const auto results = executable.run({&w, 1});
  double total = 0;
  for (std::int64_t i = 0; i < 16; ++i) total += old.item(i) + 1;
  for (std::int64_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(results[0].item(i), old.item(i) + 1, 1e-6);
    EXPECT_NEAR(results[1].item(i), old.item(i % 4 * 4 + i / 4) * total, 1e-4);
  }
}

// The gates of a cell: what their gradients add up to is a concat, if they
// share out an axis.
TEST(Executable, GradientsOfSlicesAreJoined) {
  const auto has_op = [](Executable& executable, const Tensor& x,
                         std::string_view op) {
    for (const StepInfo& step : executable.plan_for({&x, 1}).steps()) {
      if (step.name.find(op) != std::string::npos) return true;
    }
    return false;
  };
  const auto cut = [](const Value& x, std::int64_t begin, std::int64_t end) {
    return slice_axis(x, 1, begin, end);
  };
  const auto gates = [&](const auto& v) {
    const Value loss =
        sum(square(cut(v[0], 2, 5)) * exp(cut(v[0], 5, kToEnd))) +
        sum(tanh(cut(v[0], 0, 2)));
    return gradients(loss, v);
  };
  const auto overlapping = [&](const auto& v) {
    const Value loss =
        sum(square(cut(v[0], 0, 5))) + sum(tanh(cut(v[0], 3, kToEnd)));
    return gradients(loss, v);
  };
  const auto with_a_gap = [&](const auto& v) {
    const Value loss =
        sum(square(cut(v[0], 0, 2))) + sum(tanh(cut(v[0], 3, kToEnd)));
    return gradients(loss, v);
  };
  const Tensor x = pattern({4, 8});
  const auto check = [&](const auto& body, bool is_joined) {
    FunctionBuilder builder("f");
    const std::vector<Value> v{builder.parameter(x.type())};
    const Function function = builder.build([&] { return body(v); });
    Executable fused(function);
    Executable plain(function, {.donated = {}, .check_numerics = true});
    EXPECT_TRUE(near(fused.run({&x, 1})[0], plain.run({&x, 1})[0], 1e-6));
    EXPECT_EQ(has_op(fused, x, "concat"), is_joined);
    EXPECT_EQ(has_op(fused, x, "unslice"), !is_joined);
  };
  check(gates, true);
  check(overlapping, false);
  check(with_a_gap, false);
}

// A kernel may overwrite its first operand, but not while others read it.
TEST(Executable, KernelsWriteOverDonatedArguments) {
  const auto run = [](bool is_read_later) {
    FunctionBuilder builder("f");
    const Value table = builder.parameter({DType::kF32, {1000, 4}}, "table");
    const Value rows = builder.parameter({DType::kF32, {2, 4}}, "rows");
    const Value indices = builder.parameter({DType::kI32, {2}}, "indices");
    Executable executable(builder.build([&] {
      const Value updated = add_rows(table, rows, indices);
      std::vector results{updated};
      if (is_read_later) results.push_back(table * sum(updated));
      return results;
    }),
                          {.donated = {{0, 0}}});
    const Tensor before = pattern({1000, 4});
    const std::vector<Tensor> arguments{before.clone(), pattern({2, 4}),
                                        Tensor::of<std::int32_t>({2}, {7, 7})};
    const auto results = executable.run(arguments);
    EXPECT_EQ(results[0].raw(), arguments[0].raw());
    double total = 0;
    for (std::int64_t i = 0; i < before.size(); ++i) {
      const double added =
          i / 4 == 7 ? arguments[1].item(i % 4) + arguments[1].item(4 + i % 4)
                     : 0;
      EXPECT_NEAR(results[0].item(i), before.item(i) + added, 1e-6);
      total += before.item(i) + added;
    }
    if (is_read_later) {
      EXPECT_NEAR(results[1].item(30), before.item(30) * total, 1e-3);
    }
    return executable.plan_for(arguments).arena_bytes();
  };
  EXPECT_LT(run(false), 1000u);
  EXPECT_GE(run(true), 16'000u);
}

TEST(Executable, ReturnsParametersConstantsAndDuplicates) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {3}}, "x");
    const Value y = x + 1.0;
    return std::vector{x, y, y, reshape(y, {3, 1}),
                       Value(Tensor::of<float>({2}, {5, 6}))};
  });
  Executable executable(function);
  const Tensor x = Tensor::of<float>({3}, {1, 2, 3});
  const auto r = executable.run({&x, 1});
  EXPECT_TRUE(identical(r[0], x));
  EXPECT_TRUE(identical(r[1], r[2]));
  EXPECT_EQ(r[3].item(2), 4);
  EXPECT_EQ(r[4].item(1), 6);
}

TEST(Executable, SaysWhichArgumentDoesNotFit) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {symbol("N"), 4}}, "x");
    return std::vector{x + 1.0};
  });
  Executable executable(function);
  const Tensor wrong = pattern({2, 5});
  try {
    executable.run({&wrong, 1});
    FAIL();
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find("'x'"), what.npos) << what;
    EXPECT_NE(what.find("f32[N, 4]"), what.npos) << what;
    EXPECT_NE(what.find("f32[2, 5]"), what.npos) << what;
  }
}

TEST(Executable, CheckNumericsNamesTheOpThatBreaks) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {3}}, "x");
    return std::vector{exp(log(x) * 2.0) + 1.0};
  });
  Executable executable(function, {.donated = {}, .check_numerics = true});
  const Tensor x = Tensor::of<float>({3}, {1, -1, 2});
  try {
    executable.run({&x, 1});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kNumeric);
    EXPECT_EQ(error.where(), "log");
  }
}

TEST(Executable, Bf16LoopsRoundLikeMemoryDoes) {
  expect_same(
      {pattern({64, 8})},
      [](const auto& v) {
        const Value h = cast(v[0], DType::kBF16);
        return std::vector{h * h + h, cast(relu(h), DType::kF32)};
      },
      0);
}

TEST(Executable, GradientOfBatchNormLikeCodeMatchesEager) {
  expect_same(
      {pattern({256, 8}), pattern({8}, 0.5, 1.5), pattern({256, 8})},
      [](const auto& v) {
        const auto forward = [&](const Value& x, const Value& s) {
          const Value m = mean(x, {0});
          const Value c = x - m;
          return sum(relu(c * rsqrt(mean(square(c), {0}) + 1e-5) * s) * v[2]);
        };
        if (v[0].is_staged()) {
          const Value loss = forward(v[0], v[1]);
          const std::vector<Value> wrt{v[0], v[1]};
          auto results = gradients(loss, wrt);
          results.push_back(loss);
          return results;
        }
        Tape tape;
        std::vector<Value> wrt{v[0], v[1]};
        tape.watch(wrt[0]);
        tape.watch(wrt[1]);
        const Value loss = forward(wrt[0], wrt[1]);
        auto results = tape.gradient(loss, wrt);
        results.push_back(loss);
        return results;
      },
      1e-4);
}

// Each of the products could be the bias of the other.
TEST(Executable, AddsTwoProductsOfOneRow) {
  expect_same({pattern({1, 6}), pattern({6, 5}), pattern({1, 4}, -1, 1, 2),
               pattern({4, 5})},
              [](const std::vector<Value>& v) {
                const Value both = matmul(v[0], v[1]) + matmul(v[2], v[3]);
                return std::vector{relu(both), both};
              });
  expect_same(
      {pattern({1, 6}), pattern({6, 5}), pattern({1, 4}, -1, 1, 2),
       pattern({4, 5})},
      [](const std::vector<Value>& v) {
        return std::vector{relu(matmul(v[0], v[1]) + matmul(v[2], v[3]))};
      });
}

TEST(Executable, ThreadsDoNotChangeTheSums) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {20000, 24}}, "x");
    return std::vector{sum(exp(x), {0})};
  });
  const Tensor x = pattern({20000, 24});
  const int threads = thread_count();
  std::vector<Tensor> results;
  for (const int count : {1, 2, 3}) {
    set_thread_count(count);
    Executable executable(function);
    results.push_back(executable.run({&x, 1})[0]);
  }
  set_thread_count(threads);
  EXPECT_TRUE(identical(results[0], results[1]));
  EXPECT_TRUE(identical(results[0], results[2]));
}

// Notes which results are there, and what they held when it was told.
class NotingObserver : public RunObserver {
 public:
  explicit NotingObserver(std::span<const Tensor> results)
      : results_(results) {}
  void on_result(std::size_t index) override {
    seen.emplace_back(index, results_[index].clone());
  }
  std::vector<std::pair<std::size_t, Tensor>> seen;

 private:
  std::span<const Tensor> results_;
};

TEST(Executable, TellsOfEachResultOnceAndWhenItIsFinal) {
  const TensorType type{DType::kF32, {3, 3}};
  FunctionBuilder builder("f");
  const Value x = builder.parameter(type, "x");
  const Value w = builder.parameter(type, "w");
  const Value state = builder.parameter(type, "state");
  Executable executable(builder.build([&] {
    const Value y = matmul(x, w);
    const Value z = matmul(y, y);
    // One twice, one that is a parameter, one donated.
    return std::vector<Value>{y, z, y, x, state + z};
  }),
                        {.donated = {{2, 4}}});
  const std::vector<Tensor> arguments = {pattern({3, 3}), pattern({3, 3}),
                                         pattern({3, 3})};
  std::vector<Tensor> results;
  for (int i = 0; i < 4; ++i) results.push_back(Tensor::zeros(type));
  results.push_back(arguments[2]);
  NotingObserver observer(results);
  executable.run(arguments, results, &observer);

  std::vector<std::size_t> order;
  for (const auto& [index, tensor] : observer.seen) {
    EXPECT_TRUE(identical(tensor, results[index])) << index;
    order.push_back(index);
  }
  ASSERT_EQ(order.size(), 5u);
  // The first product is told of while the second is still to come.
  EXPECT_EQ(order[0], 0u);
  EXPECT_EQ(order[1], 1u);
  std::ranges::sort(order);
  EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace weft::executable_test
