// Gradients that reach only some rows of a parameter: those of an embedding.
// An optimizer that leaves alone what has no gradient then reads and writes
// these rows, not the table.
//
// The rows are values of the graph, one per lookup of the batch; coalesce_rows
// (ops/rows.h) gives each row of the table all of its gradient once. So
// everything that holds for the whole gradient holds for them: their sum of
// squares is its, and so is what clipping makes of them.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <span>

#include "weft/optim/parameter_rule.h"
#include "weft/tensor/symbol.h"

namespace weft {

struct RowGradient {
  Value rows;  // [count…, width…]; zero where a row of the table comes again
  Value indices;  // [count…]
};

// The rows of a staged gradient that is a scatter_add along the first axis, as
// that of a gather is. Nothing for other gradients, and where so many rows are
// looked up that the table costs less; `sizes` are those of the symbols, as
// far as they are known.
std::optional<RowGradient> row_gradient(const Value& gradient,
                                        const Bindings& sizes = {});

// Where `optimizer` keeps what has no gradient, replaces the gradients that
// reach only few rows by these rows. `sizes` are those of a usual batch.
void keep_touched_rows(const Optimizer& optimizer,
                       std::span<ParameterStep> parameters,
                       const Bindings& sizes = {});

// What rule.next() makes of the whole gradient, up to rounding, from the rows
// in `step`. The rule must keep what has no gradient.
ParameterRule::Next next_rows(const ParameterRule& rule,
                              const ParameterStep& step,
                              std::span<const Value> scalars);

}  // namespace weft
