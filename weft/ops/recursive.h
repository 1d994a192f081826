// A function that calls itself, written where it is called:
//
//   // x <= 1 ? 1 : x * f(x - 1)
//   const Value y = recursive("factorial", {x}, {x.type()},
//       [](const auto& v, const Recursion& self) {
//         return cond(less_equal(v[0], scalar_like(v[0], 1)),
//                     [&] { return std::vector{ones_like(v[0])}; },
//                     [&] { return std::vector{
//                         v[0] * self({v[0] - 1})[0]}; });
//       })[0];
//
// In a function that is being built it is one function of its program, with
// calls of itself in its body. Where ops run at once, it is recursion of the
// host, as deep as the host's stack is.
//
// Threads: as Context.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "weft/graph/context.h"

namespace weft {

// Each makes the results from the parameters.
using Recursion = std::function<std::vector<Value>(const std::vector<Value>&)>;
using RecursiveBody = std::function<std::vector<Value>(
    const std::vector<Value>& parameters, const Recursion& self)>;

// What `body` makes of the arguments. It sees nothing of the functions around
// it: all that it needs is passed, also from call to call. `results` are the
// types of what it returns. Throws Error(kInvalidArgument) if it returns
// anything else.
std::vector<Value> recursive(
    const std::string& name, const std::vector<Value>& arguments,
    const std::vector<TensorType>& results, const RecursiveBody& body,
    std::source_location where = std::source_location::current());

}  // namespace weft
