// Gradients that reach only some rows of a parameter: those of an embedding.
// An optimizer that leaves alone what has no gradient then reads and writes
// these rows, not the table.
//
//   if (const auto found = row_gradient(gradient, sizes)) {
//     next = update_rows(optimizer, parameter, *found, slots, scalars);
//   }
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

#include "weft/optim/optimizer.h"
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

// What optimizer.update() makes of the whole gradient, up to rounding, where
// optimizer.keeps_without_gradient().
Optimizer::Update update_rows(const Optimizer& optimizer,
                              const Value& parameter,
                              const RowGradient& gradient,
                              std::span<const Value> slots,
                              std::span<const Value> scalars);

}  // namespace weft
