// Tapes: what they watch, several at a time, and how often they can be asked.
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/graph/variable.h"
#include "weft/runtime/eager.h"

namespace weft::testing::tape_test {
namespace {

using test::expect_error;

Value number(float x) { return Tensor::scalar(x); }

TEST(Tape, FirstAndSecondDerivative) {
  Tape outer;
  Value x = number(3);
  outer.watch(x);
  Tape inner;
  inner.watch(x);
  const Value y = x * x;
  const Value first = inner.gradient(y, {&x, 1})[0];
  const Value second = outer.gradient(first, {&x, 1})[0];
  EXPECT_EQ(first.tensor().item(), 6);
  EXPECT_EQ(second.tensor().item(), 2);
}

TEST(Tape, WatchesTrainableVariablesByItself) {
  const Variable x(number(3));
  Tape outer;
  Tape inner;
  const Value y = x.read() * x.read();
  const std::vector<Value> wrt{x.read()};
  const Value first = inner.gradient(y, wrt)[0];
  const Value second = outer.gradient(first, wrt)[0];
  EXPECT_EQ(first.tensor().item(), 6);
  EXPECT_EQ(second.tensor().item(), 2);
}

TEST(Tape, KeepsWhatItRecordedWhenItStops) {
  Value x = number(3);
  Tape tape;
  tape.watch(x);
  const Value y = x * x;
  tape.stop();
  EXPECT_EQ(Tape::innermost(), nullptr);
  EXPECT_EQ(tape.gradient(y, {&x, 1})[0].tensor().item(), 6);
}

TEST(Tape, StopsInnermostFirst) {
  Tape outer;
  const Tape inner;
  expect_error(ErrorCode::kInvalidArgument, {"not the innermost"},
               [&] { outer.stop(); });
}

TEST(Tape, DoesNotWatchStatistics) {
  const Variable x(number(3), {.is_trainable = false});
  Tape tape;
  const Value y = x.read() * 2;
  const std::vector<Value> wrt{x.read()};
  expect_error(ErrorCode::kInvalidArgument, {"not watched"},
               [&] { tape.gradient(y, wrt); });
}

TEST(Tape, SumsOverTheReadsOfAVariable) {
  const Variable v(number(3));
  Tape tape;
  const Value before = v.read() * 5;
  v.assign(number(4));
  const Value y = before + v.read() * 7;
  const std::vector<Value> wrt{v.read()};
  EXPECT_EQ(tape.gradient(y, wrt)[0].tensor().item(), 12);
}

TEST(Tape, AnUnconnectedValueGetsZeros) {
  Tape tape;
  Value x = f32({2}, {1, 2});
  Value z = f32({3}, {1, 2, 3});
  tape.watch(x);
  tape.watch(z);
  EXPECT_TENSOR(tape.gradient(sum(x * x), {&z, 1})[0], f32({3}, {0, 0, 0}));
}

TEST(Tape, IsAskedOnceUnlessItIsPersistent) {
  Value x = number(3);
  Tape once;
  once.watch(x);
  const Value y = x * x;
  once.gradient(y, {&x, 1});
  expect_error(ErrorCode::kInvalidArgument, {"tape", "is_persistent"}, [&] {
    once.gradient(y, {&x, 1});
  });

  Tape often({.is_persistent = true});
  often.watch(x);
  const Value square = x * x;
  const Value cube = square * x;
  EXPECT_EQ(often.gradient(square, {&x, 1})[0].tensor().item(), 6);
  EXPECT_EQ(often.gradient(cube, {&x, 1})[0].tensor().item(), 27);
}

TEST(Tape, SeveralAtATimeAreApart) {
  Value x = number(2);
  Value z = number(5);
  Tape of_x;
  of_x.watch(x);
  Tape of_z;
  of_z.watch(z);
  const Value y = x * z;
  EXPECT_EQ(of_z.gradient(y, {&z, 1})[0].tensor().item(), 2);
  EXPECT_EQ(of_x.gradient(y, {&x, 1})[0].tensor().item(), 5);
}

TEST(Tape, RecordsNothingThatNobodyWatches) {
  Tape tape;
  Value x = number(2);
  const Value y = x * x;
  EXPECT_LT(y.id(), 0);
  tape.watch(x);
  EXPECT_GE((x * x).id(), 0);
}

TEST(Tape, TakesSeveralRootsWithSeeds) {
  Value x = f32({2}, {1, 2});
  Tape tape;
  tape.watch(x);
  const std::vector<Value> roots{x * 2, x * x};
  const std::vector<Value> seeds{f32({2}, {1, 10}), f32({2}, {100, 1000})};
  EXPECT_TENSOR(tape.gradient(roots, seeds, {&x, 1})[0],
                f32({2}, {2 + 200, 20 + 4000}));
}

}  // namespace
}  // namespace weft::testing::tape_test
