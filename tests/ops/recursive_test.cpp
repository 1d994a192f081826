#include "weft/ops/recursive.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"

#include "weft/graph/program.h"
#include "weft/ops/ops.h"
#include "weft/runtime/executable.h"

namespace weft::recursive_test {
namespace {

using Values = std::vector<Value>;
const TensorType kReal{DType::kF64, {}};

Value factorial(const Value& x) {
  return recursive("factorial", {x}, {kReal},
                   [](const Values& v, const Recursion& self) {
                     return cond(
                         less_equal(v[0], scalar_like(v[0], 1)),
                         [&] { return Values{ones_like(v[0])}; },
                         [&] { return Values{v[0] * self({v[0] - 1})[0]}; });
                   })[0];
}

TEST(Recursive, RunsAtOnceByTheHost) {
  EXPECT_EQ(factorial(Tensor::scalar(5.0)).tensor().item(), 120);
}

TEST(Recursive, IsAFunctionOfTheProgram) {
  Program program;
  program.define("main", {kReal}, [](const Values& x) {
    return Values{factorial(x[0]) + factorial(x[0] + 1)};
  });
  const Graph graph = program.build();
  EXPECT_NE(graph.find("factorial"), nullptr);
  EXPECT_NE(graph.find("factorial.2"), nullptr);  // written twice
  Executable main(graph, "main");
  EXPECT_EQ(main.run(std::vector{Tensor::scalar(5.0)})[0].item(), 840);
}

TEST(Recursive, ResultsAreAsDeclared) {
  Program program;
  test::expect_error(
      ErrorCode::kInvalidArgument, {"@wrong", "f32[]", "f64[]"}, [&] {
        program.define("main", {kReal}, [](const Values& x) {
          return recursive("wrong", x, {{DType::kF32, {}}},
                           [](const Values& v, const Recursion&) { return v; });
        });
      });
}

}  // namespace
}  // namespace weft::recursive_test
