#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/graph/program.h"
#include "weft/ops/control.h"
#include "weft/ops/ops.h"

namespace weft::while_test {
namespace {

using Values = std::vector<Value>;

Value is_small(const Values& values) {
  return less(values[0], scalar_like(values[0], 3));
}

// Says the same where ops run at once and where they become nodes.
void expect_refused(std::initializer_list<std::string> parts,
                    const LoopCondition& condition, const LoopBody& body) {
  const Value start = Tensor::scalar(1.0f);
  const auto loop = [&] { while_loop({start, start}, condition, body); };
  test::expect_error(ErrorCode::kInvalidArgument, parts, loop);
  Program program;
  FunctionBuilder& builder = program.builder("staged");
  builder.build([&] {
    test::expect_error(ErrorCode::kInvalidArgument, parts, loop);
    return Values{start};
  });
}

TEST(While, RefusesABodyThatDoesNotKeepWhatItCarries) {
  expect_refused({"while", "value 1 is f32[], but becomes f64[]"}, is_small,
                 [](const Values& now) {
                   return Values{now[0] + 1, cast(now[1], DType::kF64)};
                 });
  expect_refused({"while", "value 0 is f32[], but becomes f32[1]"}, is_small,
                 [](const Values& now) {
                   return Values{reshape(now[0], {1}), now[1]};
                 });
  expect_refused({"while", "returns 1 values, but 2 are carried"}, is_small,
                 [](const Values& now) { return Values{now[0] + 1}; });
  expect_refused({"while", "returns 3 values, but 2 are carried"}, is_small,
                 [](const Values& now) {
                   return Values{now[0] + 1, now[1], now[1]};
                 });
}

TEST(While, RefusesAConditionThatIsNoTruth) {
  expect_refused(
      {"while", "does not return one bool[]"},
      [](const Values& now) { return now[0]; },
      [](const Values& now) { return now; });
}

TEST(While, SaysWhereItWasCalled) {
  const Value start = Tensor::scalar(1.0f);
  test::expect_error(ErrorCode::kInvalidArgument,
                     {"called at:", "while_test.cpp"}, [&] {
                       while_loop({start}, is_small, [](const Values& now) {
                         return Values{reshape(now[0], {1})};
                       });
                     });
}

}  // namespace
}  // namespace weft::while_test
