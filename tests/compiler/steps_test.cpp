// What becomes of calls, and which nodes run together, as text.
#include "weft/compiler/steps.h"

#include <gtest/gtest.h>
#include <string>

#include "weft/compiler/inline_calls.h"
#include "weft/graph/registry.h"
#include "weft/graph/text.h"

namespace weft::steps_test {
namespace {

Function function_of(const std::string& text) {
  return parse_graph(text).functions.at(0);
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

TEST(InlineCalls, PutsTheBodyInThePlaceOfTheCall) {
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

TEST(LoopGroups, RunsElementwiseNodesAndTheirSumTogether) {
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
TEST(LoopGroups, KeepsTypesApart) {
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
TEST(LoopGroups, EndsALoopAtAProduct) {
  EXPECT_EQ(steps_of(R"(func @f(%0: f32[8, 8], %1: f32[8, 8]) -> (f32[8, 8]) {
    %2 = relu(%0) : f32[8, 8]
    %3 = matmul(%2, %1) : f32[8, 8]
    %4 = add(%3, %2) : f32[8, 8]
    return %4
  })"),
            "relu\nmatmul\nadd\n");
}

// Loops read what lies side by side where it is, if nobody else needs it side
// by side.
TEST(LoopGroups, ReadsConcatenationsInParts) {
  EXPECT_EQ(
      steps_of(
          R"(func @f(%0: f32[8, 4], %1: f32[8, 2], %2: f32[6]) -> (f32[8, 6]) {
    %3 = concat(%0, %1) {axis = -1} : f32[8, 6]
    %4 = add(%3, %2) : f32[8, 6]
    %5 = sum(%4) {axes = [0]} : f32[6]
    %6 = multiply(%3, %5) : f32[8, 6]
    return %6
  })"),
      "concat add sum\nconcat multiply\n");
  // A product, a view, or whoever called the function needs it.
  EXPECT_EQ(
      steps_of(
          R"(func @f(%0: f32[8, 4], %1: f32[8, 2], %2: f32[6, 3]) -> (f32[8, 6], f32[8, 3]) {
    %3 = concat(%0, %1) {axis = -1} : f32[8, 6]
    %4 = relu(%3) : f32[8, 6]
    %5 = matmul(%3, %2) : f32[8, 3]
    return %4, %5
  })"),
      "concat\nrelu\nmatmul\n");
  EXPECT_EQ(steps_of(
                R"(func @f(%0: f32[8, 4], %1: f32[8, 2]) -> (f32[48]) {
    %2 = concat(%0, %1) {axis = -1} : f32[8, 6]
    %3 = reshape(%2) {shape = shape[48]} : f32[48]
    %4 = relu(%3) : f32[48]
    return %4
  })"),
            "concat\nrelu\n");
  EXPECT_EQ(
      steps_of(
          R"(func @f(%0: f32[8, 4], %1: f32[8, 2]) -> (f32[8, 6], f32[8, 6]) {
    %2 = concat(%0, %1) {axis = -1} : f32[8, 6]
    %3 = relu(%2) : f32[8, 6]
    return %3, %2
  })"),
      "concat\nrelu\n");
  // What is there in one run has its parts computed in place.
  EXPECT_EQ(steps_of(
                R"(func @f(%0: f32[1, 4], %1: f32[1, 2]) -> (f32[1, 6]) {
    %2 = concat(%0, %1) {axis = 1} : f32[1, 6]
    %3 = relu(%2) : f32[1, 6]
    return %3
  })"),
            "concat\nrelu\n");
}

// So they read columns that would be cut out of a value.
TEST(LoopGroups, ReadsColumnsWhereTheyAre) {
  EXPECT_EQ(
      steps_of(
          R"(func @f(%0: f32[8, 6], %1: f32[8, 4], %2: f32[8, 4]) -> (f32[8, 4], f32[8, 4]) {
    %3 = slice(%0) {begin = [0, 1], end = [8, 5]} : f32[8, 4]
    %4 = multiply(%3, %1) : f32[8, 4]
    %5 = sum(%4) {axes = [0]} : f32[4]
    %6 = multiply(%3, %5) : f32[8, 4]
    return %4, %6
  })"),
      "slice multiply sum\nslice multiply\n");
  EXPECT_EQ(steps_of(
                R"(func @f(%0: f32[8, 6]) -> (f32[8, 3]) {
    %1, %2 = split(%0) {sizes = [3, 3], axis = 1} : f32[8, 3], f32[8, 3]
    %3 = sigmoid(%1) : f32[8, 3]
    %4 = multiply(%3, %2) : f32[8, 3]
    return %4
  })"),
            "split sigmoid multiply\n");
  // A product needs them in rows of their own, and a loop over more elements
  // would cut them out many times over.
  EXPECT_EQ(
      steps_of(
          R"(func @f(%0: f32[8, 6], %1: f32[4, 3]) -> (f32[8, 4], f32[8, 3]) {
    %2 = slice(%0) {begin = [0, 1], end = [8, 5]} : f32[8, 4]
    %3 = relu(%2) : f32[8, 4]
    %4 = matmul(%2, %1) : f32[8, 3]
    return %3, %4
  })"),
      "slice\nrelu\nmatmul\n");
  EXPECT_EQ(steps_of(
                R"(func @f(%0: f32[8, 6], %1: f32[5, 8, 4]) -> (f32[5, 8, 4]) {
    %2 = slice(%0) {begin = [0, 1], end = [8, 5]} : f32[8, 4]
    %3 = add(%1, %2) : f32[5, 8, 4]
    return %3
  })"),
            "slice\nadd\n");
  // Rows are one run, and every second column is none.
  EXPECT_EQ(steps_of(
                R"(func @f(%0: f32[8, 6]) -> (f32[2, 6], f32[8, 3]) {
    %1 = slice(%0) {begin = [2, 0], end = [4, 6]} : f32[2, 6]
    %2 = relu(%1) : f32[2, 6]
    %3 = slice(%0) {begin = [0, 0], end = [8, 6], steps = [1, 2]} : f32[8, 3]
    %4 = relu(%3) : f32[8, 3]
    return %2, %4
  })"),
            "slice\nrelu\nslice\nrelu\n");
}

// What an op's entry says that it costs decides: 24 additions an element are
// worth the memory that they save.
TEST(LoopGroups, ComputesAgainWhatCostsLittle) {
  const TensorType x{DType::kF32, {8, 8}};
  for (const char* name : {"negate", "exp", "gelu", "log1p", "sin", "tan"}) {
    SCOPED_TRACE(name);
    const OpDef& op = op_registry().get(name);
    const double flops = op.cost()({op, {&x, 1}, {}, {&x, 1}}).flops / 64;
    const std::string again = flops <= 24 ? std::string(name) + " " : "";
    EXPECT_EQ(steps_of(fmt::format(
                  R"(func @f(%0: f32[8, 8], %1: f32[8, 8]) -> (f32[8, 8]) {{
    %2 = {}(%0) : f32[8, 8]
    %3 = multiply(%2, %2) : f32[8, 8]
    %4 = matmul(%3, %1) : f32[8, 8]
    %5 = add(%4, %2) : f32[8, 8]
    return %5
  }})",
                  name)),
              fmt::format("{} multiply\nmatmul\n{}add\n", name, again));
  }
}

// A loop that reads what a ReLU is made of computes its mask, by way of the
// ReLU's result, which is in memory for the product. Another one reads the
// mask, which is smaller.
TEST(LoopGroups, ComputesMasksAgainBesideTheirSource) {
  const std::string start =
      R"(func @f(%0: f32[8, 8], %1: f32[8, 8], %2: f32[]) -> (f32[8, 8]) {
    %3 = subtract(%0, %2) : f32[8, 8]
    %4 = relu(%3) : f32[8, 8]
    %5 = matmul(%4, %1) : f32[8, 8]
    %6 = greater(%4, %2) : bool[8, 8]
    %7 = where(%6, %5, %2) : f32[8, 8]
)";
  EXPECT_EQ(steps_of(start + R"(
    %8 = multiply(%7, %3) : f32[8, 8]
    return %8
  })"),
            "subtract relu\nmatmul\nsubtract relu greater where multiply\n");
  EXPECT_EQ(steps_of(start + R"(
    return %7
  })"),
            "subtract relu greater\nmatmul\nwhere\n");
}

}  // namespace
}  // namespace weft::steps_test
