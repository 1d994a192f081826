// What products of matrices are, whatever their numbers: matmul and
// integer_matmul. Operands are [..., m, k] and [..., k, n], either stored
// transposed if the attributes `transpose_a` and `transpose_b` say so; leading
// dims broadcast.
#pragma once

#include <vector>

#include "weft/graph/batch.h"
#include "weft/graph/op.h"
#include "weft/ops/support/doubles.h"

namespace weft {

// The product's extents, once transposition is undone.
struct Extents {
  Dim m, k, n;

  // Both operands have two axes at least.
  explicit Extents(const OpCall& call);
};

// The leading dims of both operands, broadcast. Throws through call.error.
Shape batch_shape(const OpCall& call);
// [..., m, n]. Throws through call.error unless both operands are matrices
// whose dims fit.
Shape product_shape(const OpCall& call);
// Two operations for each of k products, operands read once.
Cost product_cost(const OpCall& call);

// The same matrices with their last two axes swapped: a view where one of these
// is 1.
Value with_last_axes_swapped(const Value& x);

// The product over many instances, written with `multiply(a, b, transpose_a,
// transpose_b)`.
using Multiply = Value (*)(const Value& a, const Value& b, bool transpose_a,
                           bool transpose_b);
Value batch_product(const BatchContext& g, Multiply multiply);

// The definition: each element of the result, row-major, summed over k in one
// fixed order.
template <class Number>
std::vector<Number> products(const OpCall& call,
                             std::span<const TensorView> inputs) {
  const Extents size(call);
  // Transposition is a matter of strides: one loop serves all four cases.
  const std::int64_t a_row = call.attributes.flag("transpose_a") ? 1 : size.k;
  const std::int64_t a_step = call.attributes.flag("transpose_a") ? size.m : 1;
  const std::int64_t b_row = call.attributes.flag("transpose_b") ? 1 : size.n;
  const std::int64_t b_step = call.attributes.flag("transpose_b") ? size.k : 1;
  const auto a = to_numbers<Number>(inputs[0]);
  const auto b = to_numbers<Number>(inputs[1]);
  const Shape batch = batch_shape(call);
  const Shape& a_shape = inputs[0].shape();
  const Shape& b_shape = inputs[1].shape();
  const BroadcastIndex a_batch(Shape(a_shape.first(a_shape.rank() - 2)), batch);
  const BroadcastIndex b_batch(Shape(b_shape.first(b_shape.rank() - 2)), batch);
  std::vector<Number> y;
  y.reserve(static_cast<std::size_t>(call.outputs[0].shape.num_elements()));
  for (std::int64_t i = 0; i < batch.num_elements(); ++i) {
    // A dim that is broadcast has stride 0, so a matrix that many share stays
    // at its place.
    const Number* left = a.data() + a_batch(i) * size.m * size.k;
    const Number* right = b.data() + b_batch(i) * size.k * size.n;
    for (std::int64_t row = 0; row < size.m; ++row) {
      for (std::int64_t column = 0; column < size.n; ++column) {
        Number sum = 0;
        for (std::int64_t k = 0; k < size.k; ++k) {
          sum += left[row * a_row + k * a_step] *
                 right[k * b_row + column * b_step];
        }
        y.push_back(sum);
      }
    }
  }
  return y;
}

}  // namespace weft
