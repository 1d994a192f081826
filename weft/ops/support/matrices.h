// What the ops on stacks of matrices [..., rows, columns] share.
#pragma once

#include "weft/base/index.h"
#include "weft/graph/gradient.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/shape.h"
#include "weft/ops/support/doubles.h"
#include "weft/ops/support/samples.h"
#include "weft/ops/unary.h"
#include "weft/tensor/symbol.h"

namespace weft::matrices {

// The last two dims.
inline Dim rows_of(const Shape& shape) { return shape[shape.rank() - 2]; }
inline Dim columns_of(const Shape& shape) { return shape.back(); }

// Throws unless the operand is a stack of matrices of floats with known sides.
inline void check_matrix(const OpCall& call, std::size_t index) {
  const TensorType& x = call.input(index);
  if (!is_floating(x.dtype) || x.shape.rank() < 2) {
    throw call.error("{} must be matrices of floats",
                     call.op.input_name(index));
  }
  if (is_symbolic(rows_of(x.shape)) || is_symbolic(columns_of(x.shape))) {
    throw call.error("the sides of {} must be known",
                     call.op.input_name(index));
  }
}

inline void check_square(const OpCall& call) {
  check_matrix(call, 0);
  const Shape& shape = call.input(0).shape;
  if (rows_of(shape) != columns_of(shape)) {
    throw call.error("the matrices must be square, not {}", to_string(shape));
  }
}

// x's dtype and leading axes with other dims behind them.
inline TensorType with_sides(const TensorType& x,
                             std::initializer_list<Dim> sides) {
  TensorType result{x.dtype, Shape(x.shape.first(x.shape.rank() - 2))};
  for (const Dim side : sides) result.shape.push_back(side);
  return result;
}

// Factors each matrix of the first operand: factor(a, results…) is given spans
// of doubles.
template <class Factor>
void for_each_matrix(std::span<const TensorView> inputs,
                     std::span<const TensorView> outputs, Factor&& factor) {
  const auto a = to_doubles(inputs[0]);
  const Shape& shape = inputs[0].shape();
  const std::size_t size = at(rows_of(shape) * columns_of(shape));
  std::vector<std::vector<double>> results;
  for (const TensorView& output : outputs) {
    results.emplace_back(at(output.size()));
  }
  const std::size_t count = size == 0 ? 0 : a.size() / size;
  for (std::size_t i = 0; i < count; ++i) {
    const auto result = [&](std::size_t n) {
      const std::size_t own = results[n].size() / count;
      return std::span(results[n]).subspan(i * own, own);
    };
    factor(std::span(a).subspan(i * size, size), result);
  }
  for (std::size_t n = 0; n < outputs.size(); ++n) {
    from_doubles(results[n], outputs[n]);
  }
}

inline Value transposed(const Value& x) {
  Integers order;
  const int rank = x.shape().rank();
  for (int axis = 0; axis < rank - 2; ++axis) order.push_back(axis);
  order.push_back(rank - 1);
  order.push_back(rank - 2);
  return transpose(x, order);
}

inline Value symmetric_part(const Value& x) {
  return (x + transposed(x)) * 0.5;
}

// [n, n]: 1 below the diagonal, `diagonal` on it and 0 above.
inline Value lower_weights(Dim n, double diagonal, DType dtype) {
  const Value row = reshape(iota(n), {n, 1});
  const Value below = cast(greater(row, iota(n)), dtype);
  return below + cast(equal(row, iota(n)), dtype) * diagonal;
}
inline Value identity(Dim n, DType dtype) {
  return cast(equal(reshape(iota(n), {n, 1}), iota(n)), dtype);
}

inline Value gradient_or_zeros(const GradientContext& g, std::size_t i) {
  return g.dy(i).is_defined() ? g.dy(i) : zeros_like(g.y(i));
}

template <int kTimes>
Cost factor_cost(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const auto elements = static_cast<double>(shape.num_elements());
  return Cost::of(call,
                  kTimes * elements * static_cast<double>(columns_of(shape)));
}

// Two rows at least: where one number becomes 0, the matrix keeps its rank.
// What it lacks, its factors may be anything that is orthonormal.
inline std::vector<OpSample> square_samples() {
  return {{{floats({2, 3, 3})}, {}},
          {{floats({4, 4})}, {}},
          {{floats({0, 2, 2})}, {}},
          {{floats({3, 3}, -1, 1, DType::kF64)}, {}}};
}

inline std::vector<OpSample> tall_samples() {
  auto all = square_samples();
  all.push_back({{floats({2, 5, 3})}, {}});
  all.push_back({{floats({3, 1})}, {}});
  return all;
}

}  // namespace weft::matrices
