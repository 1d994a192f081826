// Products of vectors: against sums that anybody can check.
#include "weft/ops/matmul.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/exact.h"

#include "weft/ops/ops.h"
#include "weft/runtime/eager.h"
#include "weft/runtime/jit/jit.h"

namespace weft::testing::matmul_test {
namespace {

Value numbers(const Shape& shape, std::initializer_list<double> values) {
  return Tensor::of<double>(shape, values);
}

TEST(Matmul, VectorsAreRowsOnTheLeftAndColumnsOnTheRight) {
  const Value v = numbers({2}, {1, 10});
  const Value w = numbers({3}, {1, 10, 100});
  const Value m = numbers({2, 3}, {1, 2, 3, 4, 5, 6});
  const Value stack = numbers({2, 2, 2}, {1, 0, 0, 1, 1, 2, 3, 4});
  const auto all = [&](const Value& x) {
    return std::vector<Value>{matmul(x, x),     matmul(x, m),
                              matmul(m, w),     matmul(x, stack),
                              matmul(stack, x), matmul(m, x, {true, false})};
  };
  const std::vector<Tensor> expected{
      Tensor::scalar(101.0),
      Tensor::of<double>({3}, {41, 52, 63}),
      Tensor::of<double>({2}, {321, 654}),
      Tensor::of<double>({2, 2}, {1, 10, 31, 42}),
      Tensor::of<double>({2, 2}, {1, 10, 21, 43}),
      Tensor::of<double>({3}, {41, 52, 63}),
  };
  for (const auto& results : {all(v), jit(all)(v)}) {
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(identical(results[i].tensor(), expected[i])) << i;
    }
  }
}

TEST(Matmul, GradientsOfVectorsAreVectors) {
  Value x = numbers({2}, {1, 10});
  Tape tape;
  tape.watch(x);
  const Value m = numbers({2, 2}, {1, 2, 3, 4});
  const Value y = matmul(matmul(x, m), x);  // x M x, of gradient (M + Mᵀ) x
  EXPECT_TRUE(identical(tape.gradient(y, {&x, 1})[0].tensor(),
                        Tensor::of<double>({2}, {52, 85})));
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  const Value v = numbers({2}, {1, 10});
  const Value m = numbers({3, 2}, {1, 2, 3, 4, 5, 6});
  test::expect_error(ErrorCode::kInvalidArgument, {"matmul"},
                     [&] { matmul(v, m); });
  test::expect_error(ErrorCode::kInvalidArgument, {"no axes to transpose"},
                     [&] {
                       matmul(v, m, {true, false});
                     });
  test::expect_error(ErrorCode::kInvalidArgument, {"matmul"},
                     [&] { matmul(numbers({}, {1}), v); });
  const Value none = numbers({0}, {});
  EXPECT_EQ(matmul(none, none).tensor().item(), 0);
}

}  // namespace
}  // namespace weft::testing::matmul_test
