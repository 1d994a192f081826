// A constant to gradients, and nothing at all to a plan.
#include "tests/support/exact.h"
#include "tests/support/single_runs.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/pass.h"
#include "weft/graph/builder.h"
#include "weft/runtime/eager.h"

namespace weft::testing::stop_gradient_test {
namespace {

TEST(StopGradient, IsAConstantToATape) {
  Value x = f32({2}, {3, 4});
  Tape tape;
  tape.watch(x);
  const Value y = sum(x * stop_gradient(x));
  EXPECT_EQ(y.tensor().item(), 25);
  EXPECT_TENSOR(tape.gradient(y, {&x, 1})[0], f32({2}, {3, 4}));
}

// Bengio, Leonard and Courville (2013): rounded on the way there, and not on
// the way back.
TEST(StopGradient, MakesAStraightThroughEstimator) {
  Value x = f32({3}, {0.2f, 1.7f, -2.5f});
  Tape tape;
  tape.watch(x);
  const Value y = x + stop_gradient(round(x) - x);
  EXPECT_TENSOR(y, f32({3}, {0, 2, -2}));
  EXPECT_TENSOR(tape.gradient(sum(square(y)), {&x, 1})[0],
                f32({3}, {0, 4, -4}));
}

TEST(StopGradient, IsNoStepOfAPlan) {
  FunctionBuilder builder("f");
  const Value x = builder.parameter({DType::kF32, {2}});
  const Function function = builder.build([&] {
    const Value loss = sum(exp(x) * stop_gradient(exp(x)));
    return std::vector{loss, gradients(loss, {&x, 1})[0]};
  });
  EXPECT_EQ(count_of(function, "stop_gradient"), 1u);
  const Function simple = run_passes(function, {.may_round = false});
  EXPECT_EQ(count_of(simple, "stop_gradient"), 0u);
  EXPECT_EQ(count_of(simple, "exp"), 1u);
}

}  // namespace
}  // namespace weft::testing::stop_gradient_test
