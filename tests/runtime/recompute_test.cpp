// Plans that keep within a given memory: the same bits, and what is refused.
#include "weft/compiler/recompute.h"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

#include "tests/support/errors.h"
#include "tests/support/op_case.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/chain_order.h"
#include "weft/compiler/order_memory.h"
#include "weft/compiler/pass.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"
#include "weft/runtime/host_func.h"

namespace weft::recompute_test {
namespace {

using Donated = std::vector<std::pair<std::size_t, std::size_t>>;

// A step of gradient descent on `layers` dense layers: parameters are donated
// to their next values; the loss is the last result.
Function dense_step(int layers, Dim batch = 256, Dim width = 32) {
  FunctionBuilder builder("step");
  return builder.build([&] {
    std::vector<Value> weights;
    for (int i = 0; i < layers; ++i) {
      weights.push_back(builder.parameter({DType::kF32, {width, width}},
                                          fmt::format("w{}", i)));
    }
    Value x = builder.parameter({DType::kF32, {batch, width}}, "x");
    for (const Value& w : weights) x = tanh(matmul(x, w));
    const Value loss = mean(x * x);
    std::vector<Value> results;
    const std::vector<Value> slopes = gradients(loss, weights);
    for (int i = 0; i < layers; ++i) {
      const auto at = static_cast<std::size_t>(i);
      results.push_back(weights[at] - 0.1 * slopes[at]);
    }
    results.push_back(loss);
    return results;
  });
}

Donated first_pairs(int count) {
  Donated pairs;
  for (int i = 0; i < count; ++i) {
    pairs.emplace_back(static_cast<std::size_t>(i),
                       static_cast<std::size_t>(i));
  }
  return pairs;
}

std::vector<Tensor> arguments_for(const Function& function) {
  std::vector<Tensor> arguments;
  for (const ValueId id : function.parameters()) {
    arguments.push_back(testing::random_tensor({.type = function.type(id)},
                                               static_cast<std::uint64_t>(id)));
  }
  return arguments;
}

// A run on arguments of its own.
std::vector<Tensor> run(Executable& executable, const Function& function) {
  return executable.run(arguments_for(function));
}

std::size_t arena_bytes(Executable& executable, const Function& function) {
  return executable.plan_for(arguments_for(function)).arena_bytes();
}

void expect_same_bits(const std::vector<Tensor>& actual,
                      const std::vector<Tensor>& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].type(), expected[i].type());
    EXPECT_EQ(
        std::memcmp(actual[i].raw(), expected[i].raw(), actual[i].bytes()), 0)
        << "result " << i;
  }
}

// Runs in `share` of the arena that the function would take, and gives the
// same.
void expect_same_within(const Function& function, double share,
                        const Donated& donated = {}) {
  Executable plain(function, {.donated = donated});
  const std::size_t whole = arena_bytes(plain, function);
  const auto limit =
      static_cast<std::size_t>(share * static_cast<double>(whole));
  Executable limited(function, {.donated = donated, .memory_limit = limit});
  EXPECT_LE(arena_bytes(limited, function), limit);
  const RecomputeReport* report =
      limited.plan_for(arguments_for(function)).recomputed();
  ASSERT_NE(report, nullptr);
  EXPECT_LE(report->bytes_after, limit);
  EXPECT_GT(report->bytes_before, limit);
  EXPECT_GT(report->seconds, 0);
  ASSERT_FALSE(report->steps.empty());
  for (const RepeatedStep& step : report->steps) EXPECT_GT(step.runs, 1u);
  // Twice, as a second run finds what the first one left.
  for (int i = 0; i < 2; ++i) {
    expect_same_bits(run(limited, function), run(plain, function));
  }
}

TEST(Recompute, KeepsTheBitsOfAStepThatOverwritesItsParameters) {
  const Function step = dense_step(8);
  for (const double share : {0.8, 0.65, 0.55}) {
    SCOPED_TRACE(share);
    expect_same_within(step, share, first_pairs(8));
  }
}

// Convolutions with statistics, and a value that is read late again and again:
// the sum that runs through all blocks.
TEST(Recompute, KeepsTheBitsOfResidualBlocks) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    Value x = builder.parameter({DType::kF32, {8, 10, 10, 8}}, "x");
    std::vector<Value> weights;
    for (int i = 0; i < 6; ++i) {
      weights.push_back(builder.parameter({DType::kF32, {3, 3, 8, 8}}));
    }
    const Value scale = builder.parameter({DType::kF32, {8}}, "scale");
    const Value shift = builder.parameter({DType::kF32, {8}}, "shift");
    weights.push_back(scale);
    for (std::size_t i = 0; i < 6; ++i) {
      const Value y = conv2d(x, weights[i], {.padding = {1, 1, 1, 1}});
      x = relu(batch_norm(y, scale, shift, 1e-5)[0]) + x;
    }
    const Value loss = mean(x * x);
    std::vector<Value> results = gradients(loss, weights);
    results.push_back(loss);
    return results;
  });
  expect_same_within(function, 0.7);
  expect_same_within(function, 0.55);
}

// What is drawn anew is drawn by the same key.
TEST(Recompute, DrawsTheSameAgain) {
  FunctionBuilder builder("f");
  const Function function = builder.build([&] {
    Value x = builder.parameter({DType::kF32, {256, 32}}, "x");
    const Value key = builder.parameter({DType::kI64, {2}}, "key");
    const Value w = builder.parameter({DType::kF32, {32, 32}}, "w");
    for (int i = 0; i < 6; ++i) {
      x = dropout(tanh(matmul(x, w)), key, i, 0.5);
    }
    const Value loss = mean(x * x);
    return std::vector{gradients(loss, std::vector{w})[0], loss};
  });
  expect_same_within(function, 0.6);
}

// Values with several late readers, in any order.
class RandomStep {
 public:
  explicit RandomStep(unsigned seed) : random_(seed) {}

  Function build() {
    FunctionBuilder builder("f");
    return builder.build([&] {
      values_.push_back(builder.parameter({DType::kF32, {64, 16}}));
      const Value w = builder.parameter({DType::kF32, {16, 16}});
      for (int i = 0; i < 20; ++i) values_.push_back(next(w));
      const Value loss = mean(values_.back() * any());
      const std::vector<Value> slopes =
          gradients(loss, std::vector{values_[0], w});
      return std::vector{slopes[0], slopes[1], loss, any()};
    });
  }

 private:
  const Value& any() { return values_[random_() % values_.size()]; }
  Value next(const Value& w) {
    switch (random_() % 6) {
      case 0:
        return tanh(matmul(any(), w));
      case 1:
        return any() * any();
      case 2:
        return slice_axis(concat(std::vector{any(), any()}, 0), 0, 32, 96);
      case 3:
        return softmax(any(), 1);
      case 4:
        return matmul(values_.back(), w) * 0.25 + any();
      default:
        return sigmoid(values_.back()) - sum(any(), {0}, true) * 0.01;
    }
  }

  std::mt19937 random_;
  std::vector<Value> values_;
};

TEST(Recompute, KeepsTheBitsOfRandomGraphs) {
  int recomputed = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    const Function function = RandomStep(seed).build();
    Executable plain(function);
    const auto limit = static_cast<std::size_t>(
        0.8 * static_cast<double>(arena_bytes(plain, function)));
    Executable limited(function, {.memory_limit = limit});
    try {
      EXPECT_LE(arena_bytes(limited, function), limit);
    } catch (const Error& error) {
      // Not every graph has so much to give up.
      EXPECT_EQ(error.code(), ErrorCode::kExhausted);
      continue;
    }
    ++recomputed;
    expect_same_bits(run(limited, function), run(plain, function));
  }
  // Times are measured, so that which orders are found is the machine's matter:
  // some third to a half of these graphs fit.
  EXPECT_GE(recomputed, 6);
}

TEST(Recompute, LeavesAloneWhatFits) {
  const Function step = dense_step(3);
  Executable plain(step);
  Executable roomy(step, {.memory_limit = std::size_t{1} << 30});
  EXPECT_EQ(roomy.plan_for(arguments_for(step)).recomputed(), nullptr);
  EXPECT_EQ(arena_bytes(roomy, step), arena_bytes(plain, step));
}

TEST(Recompute, RefusesALimitThatCannotBeMet) {
  const Function step = dense_step(6);
  Executable limited(step, {.memory_limit = 4096});
  test::expect_error(ErrorCode::kExhausted,
                     {"4096 bytes", "the least that was reached", "set the"},
                     [&] { arena_bytes(limited, step); });
}

// --- By made-up times ------------------------------------------------------

struct Formed {
  Function function;
  std::vector<PlanStep> steps;

  explicit Formed(const Function& from)
      : function(run_passes(from)), steps(form_steps(function, true)) {}

  std::optional<Recomputed> within(std::size_t limit) const {
    return recompute(function, steps,
                     {.limit = limit,
                      .can_overwrite = [](auto&&...) { return false; },
                      .seconds = [](std::size_t) { return 1e-3; }});
  }
};

TEST(Recompute, IsTheSameForTheSameTimes) {
  const Formed formed(dense_step(8));
  const auto a = formed.within(300'000);
  const auto b = formed.within(300'000);
  ASSERT_TRUE(a && b);
  EXPECT_TRUE(a->steps.function.equals(b->steps.function));
  verify(a->steps.function);
  EXPECT_EQ(to_string(a->steps.function), to_string(b->steps.function));
}

// What a step of the program's own code made is kept, and it runs once.
TEST(Recompute, RunsHostCodeOnce) {
  FunctionBuilder builder("f");
  const Formed formed(builder.build([&] {
    Value x = builder.parameter({DType::kF32, {256, 32}}, "x");
    const Value w = builder.parameter({DType::kF32, {32, 32}}, "w");
    const Value mask =
        host_func([](const std::vector<Value>& in) { return in; },
                  {stop_gradient(tanh(x))}, {x.type()})[0];
    for (int i = 0; i < 6; ++i) x = tanh(matmul(x, w)) * mask;
    const Value loss = mean(x * x);
    return std::vector{gradients(loss, std::vector{w})[0], loss};
  }));
  const auto found = formed.within(11 * 256 * 32 * 4);
  ASSERT_TRUE(found);
  const auto host_nodes = std::ranges::count_if(
      found->steps.function.nodes(),
      [](const Node& node) { return node.op->has(kHost); });
  EXPECT_EQ(host_nodes, 1);
}

// Stages of a product and a tanh, each of which hands on one value.
TEST(Recompute, FindsTheChainOfDenseLayers) {
  const Formed formed(dense_step(12));
  const OrderMemory memory(formed.function, formed.steps, {},
                           [](auto&&...) { return false; });
  const std::vector<double> seconds(formed.steps.size(), 1e-3);
  const ChainOrder chain(memory, seconds);
  EXPECT_GE(chain.stage_count(), 11u);
  EXPECT_LE(chain.stage_count(), 24u);
  const std::size_t value = 256 * 32 * 4;
  const auto all = chain.order_within(40 * value);
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), formed.steps.size());
  std::size_t last = formed.steps.size();
  for (const std::size_t values : {12, 10, 8}) {
    const auto order = chain.order_within(values * value);
    ASSERT_TRUE(order) << values;
    EXPECT_GE(order->size(), last);
    EXPECT_LE(std::ranges::max(memory.profile(*order)), values * value);
    last = order->size();
  }
  EXPECT_FALSE(chain.order_within(2 * value));
}

// The least that an error tells of is a limit that can be met.
TEST(Recompute, MeetsTheLeastThatWasReached) {
  const Formed formed(dense_step(8));
  std::size_t least = 0;
  try {
    formed.within(1);
  } catch (const Error& error) {
    const std::string text = error.what();
    const std::string before = "the least that was reached: ";
    least = std::stoul(text.substr(text.find(before) + before.size()));
  }
  ASSERT_GT(least, 0u);
  const auto found = formed.within(least);
  ASSERT_TRUE(found);
  EXPECT_LE(found->report.bytes_after, least);
}

// A chain of equal layers: keeping about every third value costs less than one
// more forward pass.
TEST(Recompute, TakesNoMoreThanOneForwardPassForThirds) {
  const Formed formed(dense_step(12));
  const std::size_t value = 256 * 32 * 4;
  const auto found = formed.within(8 * value);
  ASSERT_TRUE(found);
  // Two steps of a millisecond in each layer.
  EXPECT_LE(found->report.seconds, 24e-3);
  EXPECT_GT(found->report.seconds, 0);
}

// x -> a -> b -> c, each of 64 floats, where c reads a as well.
TEST(Recompute, AccountsForLifetimes) {
  FunctionBuilder builder("f");
  const Formed formed(builder.build([&] {
    const Value x = builder.parameter({DType::kF32, {8, 8}}, "x");
    const Value a = matmul(x, x);
    const Value b = matmul(a, x);
    const Value c = matmul(b, a);
    return std::vector{matmul(c, x)};
  }));
  const OrderMemory memory(formed.function, formed.steps, {},
                           [](auto&&...) { return false; });
  using Bytes = std::vector<std::size_t>;
  EXPECT_EQ(memory.profile({0, 1, 2, 3}), (Bytes{256, 512, 768, 256}));
  // Made again, a is not there beside b's other operand.
  EXPECT_EQ(memory.profile({0, 1, 0, 2, 3}), (Bytes{256, 512, 512, 768, 256}));
}

}  // namespace
}  // namespace weft::recompute_test
