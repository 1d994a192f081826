// Which phases of a joint function are run.
#include "weft/compiler/flat/needed_phases.h"

#include <gtest/gtest.h>

#include "tests/support/recursions.h"
#include "tests/support/values.h"

#include "weft/autodiff/gradient.h"
#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/tagged/executor.h"

namespace weft::needed_phases_test {
namespace {

using test::kReal;
using test::Values;

// main(x, v) of `body`, which is given x, fac(x), and v.
Graph main_of(const Program::Body& body) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  program.define("main", {kReal, kReal}, [&](const Values& in) {
    return body({in[0], test::call_one(fac, {in[0]}), in[1]});
  });
  return program.build();
}

Value slope(const Value& y, const Value& seed, const Value& x) {
  return gradients(*x.builder(), {&y, 1}, {&seed, 1}, {&x, 1})[0];
}

double run(const Graph& graph, double x, double v) {
  TaggedExecutor executor(lower(graph, "main", {{kReal, kReal}}));
  const Tensor result =
      executor.run({{Tensor::scalar(x), Tensor::scalar(v)}})[0];
  EXPECT_EQ(executor.profile().live_frames, 0);
  return result.item();
}

TEST(NeededPhases, ATangentNeedsNoPhaseBackward) {
  const Graph graph = main_of([](const Values& v) {
    const Value seed = v[1] * 0;
    return Values{slope(slope(v[1], seed, v[0]), v[2], seed)};
  });
  // The phases are (x | dy | d(dx) | d(y)), and d(dx) gives d(dy) by itself.
  const Graph needed = needed_phases(graph, "main");
  EXPECT_NE(needed.find("fac.joint.joint.phases.0.2"), nullptr);
  EXPECT_EQ(needed.find("fac.joint.joint"), nullptr);
  EXPECT_EQ(needed.find("fac"), nullptr);
  verify(needed);
  EXPECT_NEAR(run(graph, 5, 0.5), 154 * 0.5, 1e-12);
}

TEST(NeededPhases, ASecondDerivativeNeedsAll) {
  const Graph graph = main_of([](const Values& v) {
    return Values{slope(slope(v[1], ones_like(v[1]), v[0]), v[2], v[0])};
  });
  EXPECT_NE(needed_phases(graph, "main").find("fac.joint.joint"), nullptr);
  // Around 5, fac is x (x - 1) (x - 2) (x - 3).
  EXPECT_NEAR(run(graph, 5, 0.5), (12 * 25 - 36 * 5 + 22) * 0.5, 1e-9);
}

TEST(NeededPhases, AnUnusedGradientLeavesAPlainCall) {
  const Graph graph = main_of([](const Values& v) {
    slope(v[1], v[2], v[0]);
    return Values{v[1]};
  });
  const Graph needed = needed_phases(graph, "main");
  EXPECT_EQ(needed.find("fac.joint"), nullptr);
  for (const Function& function : needed.functions) {
    for (const Node& node : function.nodes()) {
      EXPECT_FALSE(node.op->name().ends_with("enter")) << function.name();
    }
  }
  EXPECT_EQ(run(graph, 5, 1), 120);
}

}  // namespace
}  // namespace weft::needed_phases_test
