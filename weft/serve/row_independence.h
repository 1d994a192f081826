// Whether the rows of a function's arguments may be computed together with rows
// of other requests: whether each row of its results depends on the same row of
// its arguments alone.
//
// The row axis is followed through the function, op by op: an op is let through
// where its definition keeps rows apart, and one that is not known here is
// refused. So an answer "they are independent" is a proof, and the other one
// costs speed alone.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <string>

#include "weft/graph/function.h"

namespace weft::serve {

// The symbol that is the leading dim of the first `arguments` parameters and of
// the first `results` results; nothing if there is no such one.
std::optional<Dim> row_symbol(const Function& function, std::size_t arguments,
                              std::size_t results);

// Why rows depend on each other, or may, in a function whose first `arguments`
// parameters have rows; nothing if they do not. Cost: one pass over the nodes.
std::optional<std::string> rows_depend(const Function& function, Dim rows,
                                       std::size_t arguments,
                                       std::size_t results);

}  // namespace weft::serve
