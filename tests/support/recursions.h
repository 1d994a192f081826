// Recursive functions whose values are known, as programs.
#pragma once

#include <vector>

#include "weft/graph/location.h"
#include "weft/graph/program.h"
#include "weft/ops/ops.h"

namespace weft::test {

using Values = std::vector<Value>;

inline const TensorType kReal{DType::kF64, {}};
inline const TensorType kNumber{DType::kI64, {}};

inline Value number(std::int64_t value) { return Tensor::scalar(value); }
inline Value real(double value) { return Tensor::scalar(value); }
inline Value call_one(const FunctionRef& function, const Values& arguments) {
  return call(function, arguments)[0];
}

// x <= 1 ? 1 : x * fac(x - 1)
inline FunctionRef add_factorial(Program& program) {
  const FunctionRef fac = program.declare("fac", {{kReal}, {kReal}});
  program.define(fac, [&](const Values& x) {
    return cond(
        less_equal(x[0], real(1)), [&] { return Values{ones_like(x[0])}; },
        [&] { return Values{x[0] * call_one(fac, {x[0] - 1})}; });
  });
  return fac;
}

// n <= 1 ? 1 : fib(n - 1) + fib(n - 2)
inline FunctionRef add_fibonacci(Program& program) {
  const FunctionRef fib = program.declare("fib", {{kNumber}, {kNumber}});
  program.define(fib, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(1)), [&] { return Values{number(1)}; },
        [&] {
          return Values{call_one(fib, {n[0] - 1}) + call_one(fib, {n[0] - 2})};
        });
  });
  return fib;
}

// fib, with its addition in the layer "adder".
inline Graph layered_fibonacci() {
  Program program;
  const FunctionRef fib = program.declare("fib", {{kNumber}, {kNumber}});
  program.define(fib, [&](const Values& n) {
    return cond(
        less_equal(n[0], number(1)), [&] { return Values{number(1)}; },
        [&] {
          const Value a = call_one(fib, {n[0] - 1});
          const Value b = call_one(fib, {n[0] - 2});
          const LayerScope layer("adder");
          return Values{a + b};
        });
  });
  return program.build();
}

// m = 0 ? n + 1 : n = 0 ? a(m - 1, 1) : a(m - 1, a(m, n - 1))
inline FunctionRef add_ackermann(Program& program) {
  const FunctionRef a =
      program.declare("ackermann", {{kNumber, kNumber}, {kNumber}});
  program.define(a, [&](const Values& x) {
    const Value& m = x[0];
    const Value& n = x[1];
    return cond(
        equal(m, number(0)), [&] { return Values{n + 1}; },
        [&] {
          return cond(
              equal(n, number(0)),
              [&] {
                return call(a, Values{m - 1, number(1)});
              },
              [&] {
                return call(a, Values{m - 1, call_one(a, {m, n - 1})});
              });
        });
  });
  return a;
}

// y >= x ? z : tak(tak(x-1, y, z), tak(y-1, z, x), tak(z-1, x, y))
inline FunctionRef add_takeuchi(Program& program) {
  const FunctionRef tak =
      program.declare("tak", {{kNumber, kNumber, kNumber}, {kNumber}});
  program.define(tak, [&](const Values& v) {
    const Value &x = v[0], &y = v[1], &z = v[2];
    return cond(
        greater_equal(y, x), [&] { return Values{z}; },
        [&] {
          return call(tak, Values{call_one(tak, {x - 1, y, z}),
                                  call_one(tak, {y - 1, z, x}),
                                  call_one(tak, {z - 1, x, y})});
        });
  });
  return tak;
}

}  // namespace weft::test
