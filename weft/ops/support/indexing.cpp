#include "weft/ops/support/indexing.h"

#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft {

void require_indices(const OpCall& call, std::size_t input) {
  const DType dtype = call.input(input).dtype;
  if (dtype == DType::kI32 || dtype == DType::kI64) return;
  throw call.error("{} must be i32 or i64, got {}", call.op.input_name(input),
                   to_string(dtype));
}

void require_choice(const OpCall& call, Dim size, const Shape& indices) {
  // A symbolic size passes; it is looked at again when it is known.
  if (size != 0) return;
  for (const Dim dim : indices) {
    // There is no index, so none that could be wrong.
    if (dim == 0) return;
  }
  throw call.error("there is nothing to index: the axis has size 0");
}

void require_rows(const OpCall& call, const Shape& updates,
                  const Shape& indices, int axis) {
  for (int i = 0; i < indices.rank(); ++i) {
    if (updates[axis + i] == indices[i]) continue;
    throw call.error("axis {} of updates is {}, but axis {} of indices is {}",
                     axis + i, to_string(updates[axis + i]), i,
                     to_string(indices[i]));
  }
}

Dim size_attribute(const OpCall& call) {
  const Shape& size = call.attributes.get<Shape>("size");
  if (size.rank() != 1) throw call.error("size must be one dim");
  return size[0];
}

Value indices_of_all(const BatchContext& g, std::size_t input, Dim size) {
  // The size may be symbolic, so it is a value of the graph.
  const Value rows = element_count({size}, DType::kI64);
  // Rows of all instances together may be more than an i32 counts.
  const Value index = cast(stacked(g, input), DType::kI64);
  const Value zero = scalar_like(rows, 0);
  const Value counted = where(less(index, zero), index + rows, index);
  const Value own = maximum(minimum(counted, rows - 1), zero);
  Shape column{g.size()};
  column.resize(index.shape().rank(), 1);
  // Instance b has the rows from b * size on.
  return own + reshape(iota(g.size()) * rows, column);
}

}  // namespace weft
