// Functions that refer to each other: declaring, calling, capturing, printing.
#include "weft/graph/program.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/recursions.h"

#include "weft/compiler/pass.h"
#include "weft/graph/text.h"

namespace weft::program_test {
namespace {

using test::expect_error;
using test::kNumber;
using test::kReal;
using test::Values;

TensorType vector_of(const char* size) {
  return {DType::kF32, {parse_dim(size)}};
}

std::string types_of(const Values& values) {
  std::string text;
  for (const Value& value : values) text += to_string(value.type()) + " ";
  return text;
}

// Nodes of `function` that apply `op`.
std::size_t count_nodes(const Function& function, std::string_view op) {
  std::size_t count = 0;
  for (const Node& node : function.nodes()) count += node.op->name() == op;
  return count;
}

Graph example() {
  Program program;
  test::add_factorial(program);
  test::add_ackermann(program);
  program.define("loops", {vector_of("N"), kReal}, [](const Values& x) {
    Values results = while_loop(
        {x[1], x[0]}, [](const Values& v) { return less(v[0], test::real(9)); },
        [&](const Values& v) {
          return Values{v[0] + 1, v[1] + x[0]};
        });
    for (const Value& value : scan(
             {x[1]}, {x[0]},
             [](const Values&carried, const Values&slices) {
               return Values{carried[0] * 2, slices[0] + 1};
             },
             /*reverse=*/true)) {
      results.push_back(value);
    }
    return results;
  });
  return program.build();
}

TEST(Program, PrintsAndParsesToTheSameText) {
  const std::string text = to_string(example());
  EXPECT_EQ(to_string(parse_graph(text)), text);
  EXPECT_NE(text.find("call(%2) {function = @fac(f64[]) -> (f64[])}"),
            text.npos)
      << text;
}

TEST(Program, EveryTruncatedTextIsAnErrorOrLacksAFunction) {
  const std::string text = to_string(example());
  const std::size_t whole = parse_graph(text).functions.size();
  for (std::size_t size = 0; size + 2 < text.size(); ++size) {
    try {
      EXPECT_LT(parse_graph(text.substr(0, size)).functions.size(), whole);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument) << error.what();
    }
  }
}

TEST(Program, EveryChangedTextIsReadOrRefused) {
  const std::string text = to_string(example());
  for (std::size_t i = 0; i < text.size(); i += 3) {
    for (const char* put : {"", "9", "N", "@", "(", "-"}) {
      std::string changed = text;
      changed.replace(i, 1, put);
      try {
        const Graph graph = parse_graph(changed);
        EXPECT_EQ(to_string(parse_graph(to_string(graph))), to_string(graph));
      } catch (const Error& error) {
        EXPECT_NE(error.code(), ErrorCode::kInternal) << error.what();
      }
    }
  }
}

TEST(Program, RefusesAFunctionWithoutABody) {
  Program program;
  const FunctionRef f = program.declare("missing", {{kReal}, {kReal}});
  program.define("main", {kReal}, [&](const Values& x) { return call(f, x); });
  expect_error(ErrorCode::kInvalidArgument, {"@missing", "no body"},
               [&] { program.build(); });
}

TEST(Program, RefusesARecursiveCallThatDoesNotFit) {
  Program program;
  const FunctionRef f = program.declare("f", {{kReal, kReal}, {kReal}});
  const auto define = [&](const Program::Body& body) {
    program.define(f, body);
  };
  expect_error(
      ErrorCode::kInvalidArgument,
      {"takes 2 arguments, got 1", "program_test.cpp"}, [&] {
        define([&](const Values& x) { return call(f, std::span(x).first(1)); });
      });
  expect_error(ErrorCode::kInvalidArgument,
               {"the argument 1 is i64[], which is no f64[]"}, [&] {
                 define([&](const Values& x) {
                   return call(f, Values{x[0], cast(x[1], DType::kI64)});
                 });
               });
  expect_error(ErrorCode::kInvalidArgument,
               {"is not what was declared", "(f64[], f64[]) -> (f64[], f64[])"},
               [&] { define([](const Values& x) { return x; }); });
}

TEST(Program, RefusesTwoFunctionsOfOneName) {
  Program program;
  program.define("f", {kReal}, [](const Values& x) { return x; });
  EXPECT_THROW(program.declare("f", {{}, {}}), Error);
  EXPECT_THROW(program.add(Function("f")), Error);
  EXPECT_EQ(program.unique_name("f"), "f.2");
  EXPECT_EQ(program.unique_name("f"), "f.3");
}

TEST(Program, AFunctionAloneHasNoBranches) {
  FunctionBuilder builder("alone");
  expect_error(ErrorCode::kInvalidArgument, {"@alone", "Program"}, [&] {
    builder.build([&] {
      const Value p = builder.parameter({DType::kBool, {}});
      const auto nothing = [] { return Values{}; };
      return cond(p, nothing, nothing);
    });
  });
}

TEST(Calls, BindTheSymbolsOfTheCallee) {
  Program program;
  const FunctionRef pair = program.declare(
      "pair", {{vector_of("N"), vector_of("M+1")}, {vector_of("N+M")}});
  program.define(pair, [](const Values& x) {
    const Value tail = slice_axis(x[1], 0, 1, kToEnd);
    return Values{concat(Values{x[0], tail}, 0)};
  });
  program.define("main", {vector_of("M"), vector_of("4"), vector_of("2*N+3")},
                 [&](const Values& x) {
                   Values results{test::call_one(pair, {x[0], x[1]}),
                                  test::call_one(pair, {x[2], x[1]}),
                                  test::call_one(pair, {x[1], x[2]})};
                   EXPECT_EQ(types_of(results),
                             "f32[M+3] f32[2*N+6] f32[2*N+6] ");
                   return results;
                 });
  program.build();
}

TEST(Calls, RefuseSizesThatDisagree) {
  Program program;
  const FunctionRef same =
      program.declare("same", {{vector_of("N"), vector_of("N")}, {}});
  program.define(
      "main", {vector_of("N"), vector_of("M")}, [&](const Values& x) {
        call(same, Values{x[0], x[0]});
        expect_error(ErrorCode::kInvalidArgument, {"the argument 1 is f32[M]"},
                     [&] { call(same, x); });
        return Values{};
      });
}

TEST(Calls, RefuseResultsOfUnknownSize) {
  Program program;
  const FunctionRef f = program.declare("f", {{kReal}, {vector_of("N")}});
  program.define("main", {kReal}, [&](const Values& x) {
    expect_error(ErrorCode::kInvalidArgument,
                 {"do not tell the size of the result f32[N]"},
                 [&] { call(f, x); });
    return x;
  });
}

TEST(Captures, BecomeParametersOfBothBranches) {
  Program program;
  program.define("main", {kReal, kReal, {DType::kBool, {}}},
                 [](const Values& x) {
                   return cond(
                       x[2], [&] { return Values{x[0] + 1}; },
                       [&] {
                         return cond(
                             x[2], [&] { return Values{x[1] * x[0]}; },
                             [&] { return Values{x[0]}; });
                       });
                 });
  const Graph graph = program.build();
  const Node& node = graph.find("main")->nodes()[0];
  EXPECT_EQ(node.inputs, (std::vector<ValueId>{2, 0, 1, 2}));
  EXPECT_EQ(graph.find("main.then")->parameters().size(), 3u);
  EXPECT_EQ(graph.find("main.otherwise")->parameters().size(), 3u);
}

TEST(Captures, TellTheSizesThatABodyMentions) {
  Program program;
  program.define("main", {{DType::kBool, {}}, vector_of("N"), vector_of("M")},
                 [](const Values& x) {
                   const Value wide = concat(Values{x[1], x[2]}, 0);
                   return cond(
                       x[0], [&] { return Values{wide * 2}; },
                       [&] { return Values{zeros_like(wide)}; });
                 });
  const Graph graph = program.build();
  EXPECT_EQ(to_string(reference_to(*graph.find("main.otherwise"))),
            "@main.otherwise(f32[M+N], f32[N]) -> (f32[M+N])");
}

TEST(Captures, RefuseAValueOfASibling) {
  Program program;
  program.define("main", {{DType::kBool, {}}, kReal}, [](const Values& x) {
    Value inner;
    cond(
        x[0], [&] { return Values{inner = x[1] + 1}; },
        [&] { return Values{x[1]}; });
    expect_error(ErrorCode::kInvalidArgument,
                 {"a value of @main.then was used in @main"},
                 [&] { return inner + x[1]; });
    expect_error(ErrorCode::kInvalidArgument, {"a value of @main.then"}, [&] {
      cond(
          x[0], [&] { return Values{inner}; }, [&] { return Values{x[1]}; });
    });
    return Values{x[1]};
  });
}

TEST(Control, RefusesOperandsAndBodiesThatDoNotFit) {
  Program program;
  program.define("main", {kReal, vector_of("N")}, [](const Values& x) {
    const auto same = [&] { return x; };
    EXPECT_THROW(cond(x[0], same, same), Error);
    EXPECT_THROW(cond(less(x[0], test::real(0)), same,
                      [&] {
                        return Values{x[1], x[0]};
                      }),
                 Error);
    const auto holds = [](const Values& v) {
      return less(v[0], test::real(1));
    };
    EXPECT_THROW(
        while_loop({x[0]}, holds, [&](const Values&) { return Values{x[1]}; }),
        Error);
    EXPECT_THROW(while_loop(
                     {x[0]}, [](const Values& v) { return v[0]; },
                     [](const Values& v) { return v; }),
                 Error);
    const auto step = [](const Values& carried, const Values&) {
      return carried;
    };
    EXPECT_THROW(scan({x[0]}, {x[0]}, step), Error);
    EXPECT_THROW(scan({x[0]}, {}, step), Error);
    return x;
  });
}

TEST(Verify, FindsReferencesToNothing) {
  Graph graph = example();
  std::erase_if(graph.functions,
                [](const Function& f) { return f.name() == "fac.then"; });
  expect_error(ErrorCode::kInternal, {"@fac", "no function @fac.then"},
               [&] { verify(graph); });
}

TEST(Verify, FindsSignaturesThatAreOutOfDate) {
  Graph graph = example();
  for (Function& function : graph.functions) {
    if (function.name() != "fac.then") continue;
    function.add_parameter(kReal, "");
  }
  expect_error(ErrorCode::kInternal, {"@fac", "signature"},
               [&] { verify(graph); });
}

TEST(Text, SaysWhereAReferenceGoesAstray) {
  const auto text = [](const std::string& callee) {
    return "func @f(%0: f32[2]) -> (f32[2]) {\n"
           "  %1 = call(%0) {function = " +
           callee + "} : f32[2]\n  return %1\n}\n";
  };
  EXPECT_NO_THROW(parse_graph(text("@f(f32[2]) -> (f32[2])")));
  expect_error(ErrorCode::kInvalidArgument,
               {"graph:2:29", "there is no function @g"},
               [&] { parse_graph(text("@g(f32[2]) -> (f32[2])")); });
  expect_error(ErrorCode::kInvalidArgument, {"graph:2:29", "signature"},
               [&] { parse_graph(text("@f(f32[N]) -> (f32[N])")); });
  EXPECT_THROW(parse_graph(text("@f(f32[2]) -> ")), Error);
  EXPECT_THROW(parse_graph(text("@f")), Error);
}

TEST(Simplify, MergesAndDropsCallsButNoActivations) {
  Program program;
  const FunctionRef fac = test::add_factorial(program);
  program.define("main", {kReal}, [&](const Values& x) {
    call(fac, Values{x[0] + 1});
    return Values{test::call_one(fac, x) + test::call_one(fac, x)};
  });
  const Function simple = run_passes(*program.build().find("main"));
  EXPECT_EQ(count_nodes(simple, "call"), 1u) << to_string(simple);

  const Graph phased = parse_graph(
      "func @f(%0: f32[], %1: f32[]) -> (f32[], f32[]) {\n  return %0, %1\n}\n"
      "func @main(%0: f32[]) -> (f32[], f32[]) {\n"
      "  %1, %2 = call_enter(%0) {function = @f(f32[], f32[]) -> (f32[], "
      "f32[]), arguments = [1, 1], results = [1, 1]} : f32[], i64[]\n"
      "  %3, %4 = call_enter(%0) {function = @f(f32[], f32[]) -> (f32[], "
      "f32[]), arguments = [1, 1], results = [1, 1]} : f32[], i64[]\n"
      "  %5 = call_reenter(%2, %0, %1) {function = @f(f32[], f32[]) -> (f32[], "
      "f32[]), arguments = [1, 1], results = [1, 1], phase = 1} : f32[]\n"
      "  %6 = call_reenter(%4, %0, %0) {function = @f(f32[], f32[]) -> (f32[], "
      "f32[]), arguments = [1, 1], results = [1, 1], phase = 1} : f32[]\n"
      "  return %5, %6\n}\n");
  EXPECT_EQ(count_nodes(run_passes(*phased.find("main")), "call_enter"), 2u);
}

TEST(Phases, MustAddUp) {
  const auto text = [](const std::string& phases) {
    return "func @f(%0: f32[], %1: f32[]) -> (f32[], f32[]) {\n"
           "  return %0, %1\n}\n"
           "func @main(%0: f32[]) -> (f32[]) {\n"
           "  %1, %2 = call_enter(%0) {function = @f(f32[], f32[]) -> (f32[], "
           "f32[]), " +
           phases + "} : f32[], i64[]\n  return %1\n}\n";
  };
  EXPECT_NO_THROW(parse_graph(text("arguments = [1, 1], results = [1, 1]")));
  for (const char* wrong :
       {"arguments = [1], results = [1]",
        "arguments = [1, 2], results = [1, 1]",
        "arguments = [1, 1], results = [1, 0]",
        "arguments = [-1, 3], results = [1, 1]",
        "arguments = [1, 1], results = [1, 1, 0]",
        "arguments = [9223372036854775807, 1], results = [1, 1]"}) {
    expect_error(ErrorCode::kInvalidArgument, {"no phases"},
                 [&] { parse_graph(text(wrong)); });
  }
}

}  // namespace
}  // namespace weft::program_test
