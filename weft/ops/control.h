// Calls, branches and loops: ops that run functions of their graph.
//
// Where a function of a Program is being built, branches and bodies become
// functions of it, and values that they use from around them are captured.
// Where ops run at once, the callables simply run.
//
// Branches return as many values as each other, of the same types; a loop's
// body returns what it carries with unchanged types. Anything else throws
// Error(kInvalidArgument).
//
// Threads: as Context.
#pragma once

#include <functional>

#include "weft/graph/context.h"
#include "weft/graph/program.h"

namespace weft {

// The results of a function of the program. Functions that are declared can be
// called before they are defined, so recursion is a call inside a body.
std::vector<Value> call(
    const FunctionRef& function, std::span<const Value> arguments,
    const Location& where = std::source_location::current());

using Branch = std::function<std::vector<Value>()>;

// What `then` returns if `predicate`, a bool[], holds, else what `otherwise`
// does. Only that branch runs.
std::vector<Value> cond(
    const Value& predicate, const Branch& then, const Branch& otherwise,
    const Location& where = std::source_location::current());

// What the branch of that number returns; `index` is an i32[] or i64[]. Only
// that branch runs. A number that names none throws Error(kInvalidArgument)
// where ops run at once; in a function the nearest branch runs, as kernels
// clamp what a plan computes (graph/index_check.h).
std::vector<Value> switch_case(
    const Value& index, const std::vector<Branch>& branches,
    const Location& where = std::source_location::current());

// From the carried values to one bool[], and to their next values.
using LoopCondition = std::function<Value(const std::vector<Value>&)>;
using LoopBody = Program::Body;

// Applies `body` to the carried values as long as `condition` holds of them.
std::vector<Value> while_loop(
    std::vector<Value> initial, const LoopCondition& condition,
    const LoopBody& body,
    const Location& where = std::source_location::current());

// From the carried values and one slice of each scanned value to the next
// carried values, followed by this step's outputs.
using ScanBody = std::function<std::vector<Value>(
    const std::vector<Value>& carried, const std::vector<Value>& slices)>;

// Applies `body` along the leading axis of the scanned values, from the last
// slice to the first if `reverse`. Returns the last carried values, then each
// output of all steps, stacked along a leading axis in the order of the
// slices. There is at least one scanned value; their leading axes agree.
std::vector<Value> scan(
    std::vector<Value> initial, const std::vector<Value>& scanned,
    const ScanBody& body, bool reverse = false,
    const Location& where = std::source_location::current());

}  // namespace weft
