// Functions whose gradient is written by hand.
//
//   // log(1 + e^x), with a gradient that does not overflow
//   const Value y = custom_gradient({x},
//       [](const auto& v) { return WithSaved{{log1p(exp(v[0]))}, {v[0]}}; },
//       [](const auto& saved, const auto& dy) {
//         return std::vector{dy[0] * sigmoid(saved[0])}; })[0];
//
// Where ops run at once a tape sees one application; in a function that is
// being built its gradient is built beside it (ops/custom_gradient.h). It may
// be differentiated again: then the backward function is, and so is, by the
// rules of its ops, what the forward function saved.
//
// It is differentiated by its arguments alone: what the callables read from
// around them, variables too, is constant to it.
//
// Threads: as Tape.
#pragma once

#include <functional>
#include <source_location>
#include <vector>

#include "weft/graph/value.h"

namespace weft {

struct WithSaved {
  std::vector<Value> results;
  std::vector<Value> saved;  // for the backward function
};

using CustomForward = std::function<WithSaved(const std::vector<Value>&)>;
// From what was saved, and a gradient for each result (zeros where none
// arrived; undefined for those that are not floating), to one for each
// argument: of its type, or undefined where none flows.
using CustomBackward = std::function<std::vector<Value>(
    const std::vector<Value>& saved, const std::vector<Value>& gradients)>;

// The results of `forward`. Throws Error(kInvalidArgument), here where the
// function is staged and else when a gradient is asked for, if `backward` does
// not return what it should.
std::vector<Value> custom_gradient(
    const std::vector<Value>& arguments, const CustomForward& forward,
    const CustomBackward& backward,
    const Location& where = std::source_location::current());

}  // namespace weft
