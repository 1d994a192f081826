// What each pass makes of a function, as text: before and after, and where it
// must leave the function alone.
#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <string>

#include "weft/compiler/fuse_epilogue.h"
#include "weft/compiler/inline_calls.h"
#include "weft/compiler/simplify.h"
#include "weft/compiler/steps.h"
#include "weft/graph/builder.h"
#include "weft/graph/text.h"
#include "weft/ops/ops.h"

namespace weft {
namespace {

Function function_of(const std::string& text) {
  return parse_graph(text).functions.at(0);
}

// Attributes that have their default may be left out of the texts of a test.
std::string printed(const std::string& text) {
  return to_string(function_of(text));
}

std::string simplified(const std::string& text, bool may_reassociate = true) {
  return to_string(simplify(function_of(text), may_reassociate));
}

std::string with_epilogues(const std::string& text) {
  return to_string(fuse_epilogues(function_of(text)));
}

// The ops of each step, one step a line.
std::string steps_of(const std::string& text) {
  const Function function = function_of(text);
  std::string lines;
  for (const PlanStep& step : form_steps(function, /*fuse=*/true)) {
    std::string line;
    for (const NodeId id : step.nodes) {
      line += (line.empty() ? "" : " ") + function.node(id).op->name();
    }
    lines += line + "\n";
  }
  return lines;
}

// Hashing reads only the first bytes of a large constant.
TEST(SimplifyPass, MergesConstantsThatAreEqualToTheLastByte) {
  const auto constants_in = [](float last) {
    Tensor one = Tensor::zeros({DType::kF32, {1000}});
    Tensor other = Tensor::zeros({DType::kF32, {1000}});
    other.data<float>()[999] = last;
    FunctionBuilder builder("f");
    const Function function = builder.build([&] {
      return std::vector{builder.constant(one) + builder.constant(other)};
    });
    const Function simple = simplify(function, true);
    return std::count_if(
        simple.nodes().begin(), simple.nodes().end(),
        [](const Node& node) { return node.op->name() == "constant"; });
  };
  EXPECT_EQ(constants_in(0), 1);
  EXPECT_EQ(constants_in(1), 2);
}

// A sum of 0.0 and one of -0.0 are not the same, and NaN is itself.
TEST(SimplifyPass, ComparesNumbersByTheirBits) {
  const auto nodes_of = [](double a, double b) {
    FunctionBuilder builder("f");
    const Function function = builder.build([&] {
      const Value x = full({DType::kF32, {4}}, a);
      return std::vector{x, full({DType::kF32, {4}}, b)};
    });
    return simplify(function, true).nodes().size();
  };
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(nodes_of(0.0, -0.0), 2u);
  EXPECT_EQ(nodes_of(kNaN, kNaN), 1u);
}

TEST(SimplifyPass, MergesEqualNodesAndDropsUnusedOnes) {
  EXPECT_EQ(simplified(R"(func @f(%0: f32[4], %1: f32[4]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[4]
    %3 = exp(%0) : f32[4]
    %4 = multiply(%0, %1) : f32[4]
    %5 = subtract(%2, %4) : f32[4]
    return %5
  })"),
            printed(R"(func @f(%0: f32[4], %1: f32[4]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[4]
    %3 = subtract(%2, %2) : f32[4]
    return %3
  })"));
}

TEST(SimplifyPass, DropsWhatChangesNothing) {
  EXPECT_EQ(simplified(R"(func @f(%0: f32[2, 3]) -> (f32[2, 3]) {
    %1 = cast(%0) {dtype = f32} : f32[2, 3]
    %2 = reshape(%1) {shape = shape[2, 3]} : f32[2, 3]
    %3 = negate(%2) : f32[2, 3]
    return %3
  })"),
            printed(R"(func @f(%0: f32[2, 3]) -> (f32[2, 3]) {
    %1 = negate(%0) : f32[2, 3]
    return %1
  })"));
}

constexpr const char* kScaledSum =
    R"(func @f(%0: f32[8, 4], %1: f32[4]) -> (f32[4]) {
    %2 = multiply(%0, %1) : f32[8, 4]
    %3 = sum(%2) {axes = [0]} : f32[4]
    return %3
  })";

TEST(SimplifyPass, TakesAFactorOutOfASumThatRepeatsIt) {
  EXPECT_EQ(simplified(kScaledSum),
            printed(R"(func @f(%0: f32[8, 4], %1: f32[4]) -> (f32[4]) {
    %2 = sum(%0) {axes = [0], keep_dims = true} : f32[1, 4]
    %3 = multiply(%2, %1) : f32[1, 4]
    %4 = reshape(%3) {shape = shape[4]} : f32[4]
    return %4
  })"));
  // The factor changes along the axis of this sum.
  const std::string other = R"(func @f(%0: f32[8, 4], %1: f32[4]) -> (f32[8]) {
    %2 = multiply(%0, %1) : f32[8, 4]
    %3 = sum(%2) {axes = [1]} : f32[8]
    return %3
  })";
  EXPECT_EQ(simplified(other), printed(other));
}

TEST(SimplifyPass, KeepsEveryBitWhereItMustNotReassociate) {
  EXPECT_EQ(simplified(kScaledSum, false), printed(kScaledSum));
}

TEST(SimplifyPass, TranspositionsOfEachOtherBecomeOneOrNone) {
  EXPECT_EQ(
      simplified(R"(func @f(%0: f32[2, 3, 4]) -> (f32[2, 3, 4], f32[3, 4, 2]) {
    %1 = transpose(%0) {permutation = [1, 0, 2]} : f32[3, 2, 4]
    %2 = transpose(%1) {permutation = [1, 0, -1]} : f32[2, 3, 4]
    %3 = transpose(%1) {permutation = [0, 2, 1]} : f32[3, 4, 2]
    %4 = negate(%2) : f32[2, 3, 4]
    return %4, %3
  })"),
      printed(R"(func @f(%0: f32[2, 3, 4]) -> (f32[2, 3, 4], f32[3, 4, 2]) {
    %1 = transpose(%0) {permutation = [1, 2, 0]} : f32[3, 4, 2]
    %2 = negate(%0) : f32[2, 3, 4]
    return %2, %1
  })"));
}

TEST(SimplifyPass, ProductsReadTransposedOperandsWhereTheyLie) {
  const std::string product =
      R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 5, 4]) -> (f32[2, 3, 5]) {
    %2 = transpose(%0) {permutation = [0, 2, 1]} : f32[2, 3, 4]
    %3 = transpose(%1) {permutation = [0, 2, 1]} : f32[2, 4, 5]
    %4 = matmul(%2, %3) : f32[2, 3, 5]
    return %4
  })";
  EXPECT_EQ(
      simplified(product),
      printed(R"(func @f(%0: f32[2, 4, 3], %1: f32[2, 5, 4]) -> (f32[2, 3, 5]) {
    %2 = matmul(%0, %1) {transpose_a = true, transpose_b = true} : f32[2, 3, 5]
    return %2
  })"));
  // Another kernel may round otherwise.
  EXPECT_EQ(simplified(product, false), printed(product));
  // One product of all rows is worth a copy.
  const std::string rows =
      R"(func @f(%0: f32[2, 4, 3], %1: f32[4, 5]) -> (f32[2, 3, 5]) {
    %2 = transpose(%0) {permutation = [0, 2, 1]} : f32[2, 3, 4]
    %3 = matmul(%2, %1) : f32[2, 3, 5]
    return %3
  })";
  EXPECT_EQ(simplified(rows), printed(rows));
  // Axes before the last two are no matter of a flag.
  const std::string other =
      R"(func @f(%0: f32[3, 2, 4], %1: f32[4, 5]) -> (f32[2, 3, 5]) {
    %2 = transpose(%0) {permutation = [1, 0, 2]} : f32[2, 3, 4]
    %3 = matmul(%2, %1) : f32[2, 3, 5]
    return %3
  })";
  EXPECT_EQ(simplified(other), printed(other));
}

TEST(SimplifyPass, PutsSlicesThatFillAnAxisSideBySide) {
  EXPECT_EQ(simplified(R"(func @f(%0: f32[2, 3], %1: f32[2, 5]) -> (f32[2, 8]) {
    %2 = unslice(%0) {begin = [0, 0], end = [2, 3], shape = shape[2, 8]} : f32[2, 8]
    %3 = unslice(%1) {begin = [0, 3], end = [2, 8], shape = shape[2, 8]} : f32[2, 8]
    %4 = add(%2, %3) : f32[2, 8]
    return %4
  })"),
            printed(R"(func @f(%0: f32[2, 3], %1: f32[2, 5]) -> (f32[2, 8]) {
    %2 = concat(%0, %1) {axis = 1} : f32[2, 8]
    return %2
  })"));
}

TEST(SimplifyPass, AddsSlicesThatOverlap) {
  const std::string text =
      R"(func @f(%0: f32[2, 4], %1: f32[2, 5]) -> (f32[2, 8]) {
    %2 = unslice(%0) {begin = [0, 0], end = [2, 4], shape = shape[2, 8]} : f32[2, 8]
    %3 = unslice(%1) {begin = [0, 3], end = [2, 8], shape = shape[2, 8]} : f32[2, 8]
    %4 = add(%2, %3) : f32[2, 8]
    return %4
  })";
  EXPECT_EQ(simplified(text), printed(text));
}

TEST(EpiloguePass, MovesBiasAndReluIntoAProduct) {
  EXPECT_EQ(
      with_epilogues(
          R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    %5 = relu(%4) : f32[8, 3]
    return %5
  })"),
      printed(
          R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1, %2) {activation = "relu"} : f32[8, 3]
    return %3
  })"));
}

TEST(EpiloguePass, LeavesAProductThatSomebodyElseReads) {
  const std::string text =
      R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[3]) -> (f32[8, 3], f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    return %3, %4
  })";
  EXPECT_EQ(with_epilogues(text), printed(text));
}

TEST(EpiloguePass, LeavesASumThatIsNoBias) {
  const std::string text =
      R"(func @f(%0: f32[8, 4], %1: f32[4, 3], %2: f32[8, 3]) -> (f32[8, 3]) {
    %3 = matmul(%0, %1) : f32[8, 3]
    %4 = add(%3, %2) : f32[8, 3]
    return %4
  })";
  EXPECT_EQ(with_epilogues(text), printed(text));
}

TEST(InliningPass, PutsTheBodyInThePlaceOfTheCall) {
  const Graph graph = parse_graph(R"(func @f(%0: f32[4]) -> (f32[4]) {
    %1 = call(%0) {function = @g(f32[4]) -> (f32[4])} : f32[4]
    %2 = negate(%1) : f32[4]
    return %2
  }
  func @g(%0: f32[4]) -> (f32[4]) {
    %1 = square(%0) : f32[4]
    return %1
  })");
  EXPECT_EQ(to_string(inline_calls(graph, "f")),
            to_string(parse_graph(R"(func @f(%0: f32[4]) -> (f32[4]) {
    %1 = square(%0) : f32[4]
    %2 = negate(%1) : f32[4]
    return %2
  })")));
}

TEST(LoopPass, RunsElementwiseNodesAndTheirSumTogether) {
  EXPECT_EQ(steps_of(R"(func @f(%0: f32[64, 8], %1: f32[64, 8]) -> (f32[8]) {
    %2 = add(%0, %1) : f32[64, 8]
    %3 = relu(%2) : f32[64, 8]
    %4 = square(%3) : f32[64, 8]
    %5 = sum(%4) {axes = [0]} : f32[8]
    return %5
  })"),
            "add relu square sum\n");
}

// A loop computes in one type, which holds all of its values: f64 and i64 are
// in no loop together, and f32 meets f64 where it is cast.
TEST(LoopPass, KeepsTypesApart) {
  EXPECT_EQ(steps_of(R"(func @f(%0: f64[8, 4], %1: i64[8, 4]) -> (f64[4]) {
    %2 = add(%0, %0) : f64[8, 4]
    %3 = multiply(%1, %1) : i64[8, 4]
    %4 = less(%3, %1) : bool[8, 4]
    %5 = where(%4, %2, %0) : f64[8, 4]
    %6 = sum(%5) {axes = [0]} : f64[4]
    return %6
  })"),
            "multiply less\nadd where sum\n");
  EXPECT_EQ(steps_of(R"(func @f(%0: f64[8], %1: f32[8]) -> (f32[8]) {
    %2 = square(%0) : f64[8]
    %3 = cast(%2) {dtype = f32} : f32[8]
    %4 = add(%3, %1) : f32[8]
    return %4
  })"),
            "square cast\nadd\n");
}

// The product needs the whole of its operand, so the loop before it cannot go
// on behind it.
TEST(LoopPass, EndsALoopAtAProduct) {
  EXPECT_EQ(steps_of(R"(func @f(%0: f32[8, 8], %1: f32[8, 8]) -> (f32[8, 8]) {
    %2 = relu(%0) : f32[8, 8]
    %3 = matmul(%2, %1) : f32[8, 8]
    %4 = add(%3, %2) : f32[8, 8]
    return %4
  })"),
            "relu\nmatmul\nadd\n");
}

}  // namespace
}  // namespace weft
