// Calls code of the program from a graph. Eagerly the code simply runs; in a
// function it becomes a node that runs it when the function runs, on the
// numbers of that run, with a tape of its own if a gradient is asked for.
//
// The code runs once for each call in a run, also if nobody uses what it
// returns; in which order is said by its operands alone. No gradient reaches
// variables that it reads. A gradient of the gradient of a function that
// branches, loops or calls itself computes the function once more, with such
// calls in it.
//
// Threads: the code runs on the thread that runs the function.
#pragma once

#include <functional>
#include <source_location>
#include <string>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

using HostCallable =
    std::function<std::vector<Value>(const std::vector<Value>&)>;

// `results` are the types that `callable` returns for `operands`; their dims
// may be symbols of the operands' types. Running throws what `callable` throws,
// and Error(kInvalidArgument) if it returns something else.
std::vector<Value> host_func(
    HostCallable callable, const std::vector<Value>& operands,
    const std::vector<TensorType>& results, std::string name = "host_func",
    const Location& where = std::source_location::current());

}  // namespace weft
