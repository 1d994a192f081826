#include "weft/compiler/flat/flat_graph.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/recursions.h"

#include "weft/compiler/flat/lowering.h"
#include "weft/runtime/executable.h"

namespace weft::flat_graph_test {
namespace {

using test::kNumber;
using test::number;
using test::Values;

template <class Add>
FlatGraph flat_of(Add&& add, std::string_view entry) {
  Program program;
  add(program);
  const Graph graph = program.build();
  const FunctionRef function = reference_to(*graph.find(entry));
  return lower(graph, entry, function.signature->parameters);
}

std::ptrdiff_t count(const FlatGraph& graph, FlatKind kind) {
  return std::count_if(graph.nodes.begin(), graph.nodes.end(),
                       [&](const FlatNode& node) { return node.kind == kind; });
}

int find(const FlatGraph& graph, FlatKind kind, int body = -1) {
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const FlatNode& node = graph.nodes[id];
    if (node.kind == kind && (body < 0 || node.body == body)) {
      return static_cast<int>(id);
    }
  }
  return -1;
}

// A program of main(n) = f(n, n + 1), where f is `body`.
FlatGraph called_once(const Program::Body& body) {
  return flat_of(
      [&](Program& program) {
        const FunctionRef f = program.define("f", {kNumber, kNumber}, body);
        program.define("main", {kNumber}, [&](const Values& n) {
          return call(f, Values{n[0], n[0] + 1});
        });
      },
      "main");
}

TEST(FlatGraph, HoldsEveryBodyOnce) {
  const FlatGraph fib = flat_of(test::add_fibonacci, "fib");
  ASSERT_EQ(fib.bodies.size(), 2u);  // the entry, and what it calls
  EXPECT_EQ(fib.sites.size(), 3u);
  // n < 2; the constant; n - 1 and n - 2; the sum.
  EXPECT_EQ(count(fib, FlatKind::kRegion), 4);
  const FlatNode& merge = fib.node(fib.body(1).parameters[0]);
  EXPECT_EQ(merge.inputs.size(), 3u);

  const FlatGraph fac = flat_of(test::add_factorial, "fac");
  EXPECT_EQ(fac.node(fac.body(1).parameters[0]).inputs.size(), 2u);
}

TEST(FlatGraph, OneCallNeedsNoMerge) {
  const FlatGraph graph =
      called_once([](const Values& v) { return Values{v[0] * v[1]}; });
  // The first argument is the entry's: it is read in place.
  ASSERT_EQ(graph.body(1).parameters.size(), 1u);
  const int parameter = graph.body(1).parameters[0];
  EXPECT_EQ(graph.node(parameter).inputs.size(), 1u);
  EXPECT_NE(to_string(graph, parameter).find("identity"), std::string::npos);
}

TEST(FlatGraph, RegionsDoNotDelayCalls) {
  // g(x) and h(y) wait for one argument each, though one region could make
  // both; and their sum waits for both.
  const FlatGraph graph = flat_of(
      [](Program& program) {
        const FunctionRef f = program.declare("f", {{kNumber}, {kNumber}});
        program.define(f, [&](const Values& n) {
          const Value a = call(f, Values{n[0]})[0];
          const Value b = call(f, Values{n[0] + 1})[0];
          const Value c = call(f, Values{a * 2})[0];
          const Value d = call(f, Values{b * 3})[0];
          return Values{c + d};
        });
      },
      "f");
  for (const FlatNode& node : graph.nodes) {
    if (node.kind != FlatKind::kRegion) continue;
    const Function& region =
        graph.regions[static_cast<std::size_t>(node.region)].function;
    for (const Node& op : region.nodes()) {
      if (op.op->name() == "multiply") {
        EXPECT_EQ(node.inputs.size(), 1u);
      }
    }
  }
  EXPECT_EQ(count(graph, FlatKind::kRegion), 4);
}

// One graph runs inputs of any depth, and no run changes it.
TEST(FlatGraph, DoesNotDependOnTheInput) {
  Program program;
  test::add_takeuchi(program);
  Executable executable(program.build(), "tak");
  const auto numbers = [](std::int64_t x, std::int64_t y, std::int64_t z) {
    return std::vector{number(x).tensor(), number(y).tensor(),
                       number(z).tensor()};
  };
  TaggedExecutor& shallow = executable.tagged_for(numbers(1, 2, 3));
  const std::string text = to_string(shallow.graph());
  EXPECT_EQ(shallow.run(numbers(1, 2, 3))[0].item(), 3);
  EXPECT_EQ(shallow.profile().activations("tak"), 1);
  TaggedExecutor& deep = executable.tagged_for(numbers(14, 10, 5));
  EXPECT_EQ(&deep, &shallow);
  deep.run(numbers(14, 10, 5));
  EXPECT_GT(deep.profile().activations("tak"), 1000);
  EXPECT_EQ(to_string(deep.graph()), text);
}

TEST(FlatGraph, ShapesThatNeverComeBackAreAnError) {
  const TensorType vector{DType::kF32, {symbol("N")}};
  Program program;
  const FunctionRef f = program.declare("f", {{vector}, {kNumber}});
  program.define(f, [&](const Values& x) {
    const Value one = Tensor::of<float>({1}, {1});
    return call(f, Values{concat(Values{x[0], one}, 0)});
  });
  const Graph graph = program.build();
  test::expect_error(
      ErrorCode::kUnsupported,
      {"@f", "more than 1000 combinations of shapes", "come back"}, [&] {
        lower(graph, "f", std::vector{TensorType{DType::kF32, {3}}});
      });
}

TEST(FlatGraph, AReturnWithoutACallIsAnError) {
  FlatGraph graph = flat_of(test::add_factorial, "fac");
  graph.sites[0].calls.clear();
  test::expect_error(ErrorCode::kInternal, {"Call", "body: @"},
                     [&] { verify(graph); });
}

TEST(FlatGraph, AValueFromOutsideABranchIsAnError) {
  // A region on one side of a branch that reads what is on neither.
  FlatGraph graph = called_once([](const Values& v) {
    return cond(
        less(v[1], number(3)), [&] { return Values{v[1] * v[1]}; },
        [&] { return Values{v[1] + v[1]}; });
  });
  const int first = find(graph, FlatKind::kSwitch);
  for (FlatNode& node : graph.nodes) {
    if (node.kind != FlatKind::kMerge) continue;
    node.inputs[1] = node.inputs[0];
  }
  ASSERT_GE(first, 0);
  test::expect_error(ErrorCode::kInternal, {"two sides of one branch"},
                     [&] { verify(graph); });
}

TEST(FlatGraph, ACallWithADeadAndALiveArgumentIsAnError) {
  // The call lies in a branch; one of its arguments is taken from outside.
  FlatGraph graph = flat_of(
      [](Program& program) {
        const FunctionRef f =
            program.declare("f", {{kNumber, kNumber}, {kNumber}});
        program.define(f, [&](const Values& v) {
          return cond(
              less(v[0], number(3)), [&] { return Values{v[1]}; },
              [&] {
                return call(f, Values{v[0] - 1, v[1] + 1});
              });
        });
      },
      "f");
  const int argument = graph.body(1).parameters[1];
  for (FlatNode& node : graph.nodes) {
    if (node.kind == FlatKind::kCall && node.body == 1 && node.index == 1) {
      node.inputs = {{argument, 0}};
    }
  }
  EXPECT_THROW(verify(graph), Error);
}

TEST(FlatGraph, DrawsItself) {
  const std::string dot = to_dot(flat_of(test::add_fibonacci, "fib"));
  EXPECT_EQ(dot.rfind("digraph", 0), 0u);
  EXPECT_NE(dot.find("label=\"@fib\""), std::string::npos);
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'),
            std::count(dot.begin(), dot.end(), '}'));
}

}  // namespace
}  // namespace weft::flat_graph_test
