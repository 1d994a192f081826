// A recursive function, written once. docs/guides/recursion.md walks through
// what becomes of it.
#pragma once

#include <utility>
#include <vector>

#include "weft/ops/ops.h"
#include "weft/ops/recursive.h"
#include "weft/runtime/eager.h"

namespace weft::examples {

// x <= 1 ? 1 : x * factorial(x - 1), of an f64 scalar.
inline Value factorial(const Value& x) {
  using Values = std::vector<Value>;
  return recursive("factorial", {x}, {x.type()},
                   [](const Values& v, const Recursion& self) {
                     const Value& n = v[0];
                     return cond(
                         less_equal(n, scalar_like(n, 1)),
                         [&] { return Values{ones_like(n)}; },
                         [&] { return Values{n * self({n - 1})[0]}; });
                   })[0];
}

// The value and the slope.
inline std::pair<Value, Value> factorial_and_slope(Value x) {
  Tape tape;
  tape.watch(x);
  const Value y = factorial(x);
  return {y, tape.gradient(y, {&x, 1})[0]};
}

}  // namespace weft::examples
