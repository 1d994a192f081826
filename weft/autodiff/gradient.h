// Gradients of staged code: graph in, graph out.
//
// Threads: as FunctionBuilder.
#pragma once

#include <vector>

#include "weft/graph/builder.h"

namespace weft {

// Inside a builder's build(): the gradient of `root` (seeded with ones) with
// respect to each of `wrt`, added to the function being built. Composite ops
// between them must have been lowered or have a gradient rule of their own;
// FunctionBuilder lowers those that have none as it records them. Calls,
// branches and loops on the way become enters (graph/phases.h), and what they
// run gets joint functions in the builder's program. A value that `root` does
// not depend on gets zeros. Throws Error(kUnsupported) for an op on the way
// that has no gradient. Takes time in proportion to the nodes of the function
// so far.
std::vector<Value> gradients(const Value& root, std::span<const Value> wrt);
// The same for sum(seed_i * root_i), where the roots are values of `builder`.
std::vector<Value> gradients(FunctionBuilder& builder,
                             std::span<const Value> roots,
                             std::span<const Value> seeds,
                             std::span<const Value> wrt);

// f -> f's results followed by the gradients of its first result (seeded with
// ones) with respect to the given parameters.
Function differentiate(const Function& function,
                       std::span<const std::size_t> parameters);

}  // namespace weft
