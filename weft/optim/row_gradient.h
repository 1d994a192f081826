// Gradients that reach only some rows of a parameter: those of an embedding.
// An optimizer that leaves alone what has no gradient then reads and writes
// these rows, not the table.
//
// The rows are values of the graph, one per lookup of the batch; coalesce_rows
// (ops/rows.h) gives each row of the table all of its gradient once. So
// everything that holds for the whole gradient holds for them: their sum of
// squares is its, and so is what clipping makes of them. A table may be looked
// up several times in a step, by indices of any shapes: a source and a target
// that share their words, say. All its lookups are put behind each other.
//
//   TouchedRows touched(optimizer, steps);
//   optimizer.update(steps, shared, time);
//   touched.put_back(steps);
//
// Threads: caller synchronises.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "weft/optim/optimizer.h"
#include "weft/tensor/symbol.h"

namespace weft {

struct RowGradient {
  Value rows;  // [count, width…]; zero where a row of the table comes again
  Value indices;  // [count]
};

// The rows of a staged gradient that is a scatter_add along the first axis, as
// that of a gather is, or a sum of such. Nothing for other gradients, and where
// so many rows are looked up that the table costs less; `sizes` are those of
// the symbols, as far as they are known.
std::optional<RowGradient> row_gradient(const Value& gradient,
                                        const Bindings& sizes = {});

// Whether the function under construction reads of `table` no rows but those
// that its gradient, which must be such a one, reaches: then a step needs no
// others, neither to read nor to change.
bool is_only_looked_up(const Value& table, const Value& gradient);

class TouchedRows {
 public:
  // Where `optimizer` keeps what has no gradient, and the gradient reaches only
  // few rows, puts these rows of the parameter, its gradient and its slots in
  // their place. `sizes` are those of a usual batch.
  TouchedRows(const Optimizer& optimizer, std::span<ParameterStep> parameters,
              const Bindings& sizes = {});

  // The tables again, with what update() made of their rows: what it would have
  // made of the tables, up to rounding.
  void put_back(std::span<ParameterStep> parameters) const;

 private:
  struct Table {
    std::size_t parameter;  // its place among all
    Value indices;          // [count]
    ParameterStep whole;
    ParameterStep rows;  // before the update
  };
  std::vector<Table> tables_;
};

}  // namespace weft
