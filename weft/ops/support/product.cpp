#include "weft/ops/support/product.h"

#include <algorithm>

#include "weft/ops/shape.h"
#include "weft/ops/support/batching.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

Dim inner_of_b(const OpCall& call) {
  const Shape& b = call.input(1).shape;
  return b[b.rank() - (call.attributes.flag("transpose_b") ? 1 : 2)];
}

}  // namespace

Extents::Extents(const OpCall& call) {
  const Shape& a = call.input(0).shape;
  const Shape& b = call.input(1).shape;
  const bool transpose_a = call.attributes.flag("transpose_a");
  const bool transpose_b = call.attributes.flag("transpose_b");
  m = a[a.rank() - (transpose_a ? 1 : 2)];
  k = a[a.rank() - (transpose_a ? 2 : 1)];
  n = b[b.rank() - (transpose_b ? 2 : 1)];
}

Shape batch_shape(const OpCall& call) {
  const Shape& a = call.input(0).shape;
  const Shape& b = call.input(1).shape;
  const int rank = std::max(a.rank(), b.rank()) - 2;
  Shape batch;
  for (int axis = 0; axis < rank; ++axis) {
    const auto dim = [&](const Shape& shape) {
      // Where an operand has fewer leading axes, the missing ones count as 1.
      const int own = axis - (rank - (shape.rank() - 2));
      return own < 0 ? Dim{1} : shape[own];
    };
    const Dim left = dim(a);
    const Dim right = dim(b);
    if (left != right && left != 1 && right != 1) {
      throw call.error("leading dims {} and {} do not broadcast",
                       to_string(left), to_string(right));
    }
    batch.push_back(left == 1 ? right : left);
  }
  return batch;
}

Shape product_shape(const OpCall& call) {
  const Shape& a = call.input(0).shape;
  const Shape& b = call.input(1).shape;
  if (a.rank() < 2 || b.rank() < 2) {
    throw call.error("operands must be matrices")
        .hint("reshape a vector to [1, k] or [k, 1]");
  }
  const Extents size(call);
  if (inner_of_b(call) != size.k) {
    throw call
        .error("inner dims do not match: a has {}, b has {}", to_string(size.k),
               to_string(inner_of_b(call)))
        .hint(
            "a is [..., m, k] and b is [..., k, n], each before its "
            "transposition");
  }
  Shape shape = batch_shape(call);
  shape.push_back(size.m);
  shape.push_back(size.n);
  return shape;
}

Cost product_cost(const OpCall& call) {
  return Cost::of(
      call, 2.0 * static_cast<double>(Extents(call).k) *
                static_cast<double>(call.outputs[0].shape.num_elements()));
}

Value with_last_axes_swapped(const Value& x) {
  const int rank = x.shape().rank();
  Shape shape = x.shape();
  std::swap(shape[rank - 2], shape[rank - 1]);
  // A vector lies in memory as its transpose does, so that a view is enough.
  if (shape[rank - 2] == 1 || shape[rank - 1] == 1) return reshape(x, shape);
  Integers order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  std::swap(order[order.size() - 2], order.back());
  return transpose(x, order);
}

// One matrix for all instances is one product with the rows of all of them:
// that is what a matrix against leading dims of `a` is. A shared `a` against
// columns (n = 1) is the same, transposed; otherwise there is a product for
// each instance.
Value batch_product(const BatchContext& g, Multiply multiply) {
  const auto rank = [&](std::size_t i) {
    return g.call().input(i).shape.rank();
  };
  const bool is_plain = rank(0) == 2 && rank(1) == 2;
  bool transpose_a = g.attributes().flag("transpose_a");
  const bool transpose_b = g.attributes().flag("transpose_b");
  const Extents size(g.call());
  // Where the operands may change places, that is.
  const bool commutes = g.call().input(0).dtype == g.call().input(1).dtype;
  if (is_plain && commutes && size.n == 1 && g.is_batched(1) &&
      !g.is_batched(0)) {
    // The columns are taken for rows: yᵀ = xᵀ aᵀ, with all x in one matrix.
    // A column for each instance becomes a row, so that their products are one
    // large one; alone, each would read `a` again.
    const Value rows = reshape(g.x(1), {g.size(), size.k});
    const Value y = multiply(rows, g.x(0), false, !transpose_a);
    return reshape(y, with_leading(g.size(), g.call().outputs[0].shape));
  }
  // Leading dims line up at the last axis, so ones go between the batch and
  // them.
  Value a = aligned(g, 0, std::max(rank(0), rank(1)));
  const Value b = aligned(g, 1, std::max(rank(0), rank(1)));
  // Rows that lie one behind the other make one product with the shared matrix,
  // which pays for moving them.
  if (transpose_a && !g.is_batched(1) && rank(1) == 2) {
    a = with_last_axes_swapped(a);
    transpose_a = false;
  }
  return multiply(a, b, transpose_a, transpose_b);
}

}  // namespace weft
