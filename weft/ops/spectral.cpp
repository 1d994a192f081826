// Eigenvalues and singular values. The gradients are those of Giles ("Collected
// matrix derivative results", 2008) and of Townsend ("Differentiating the
// singular value decomposition", 2016).
#include "weft/graph/registry.h"
#include "weft/ops/linalg.h"
#include "weft/ops/matmul.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/factors.h"
#include "weft/ops/support/matrices.h"

namespace weft {
namespace {

using namespace matrices;  // NOLINT: this file's own support

std::vector<TensorType> infer_eigh(const OpCall& call) {
  check_square(call);
  const TensorType& x = call.input(0);
  // There are as many eigenvalues as columns, and as many vectors.
  return {with_sides(x, {columns_of(x.shape)}), x};
}

std::vector<TensorType> infer_svd(const OpCall& call) {
  check_matrix(call, 0);
  const TensorType& x = call.input(0);
  // This is the thin form: rows of vᵀ beyond k belong to no singular value.
  const Dim m = rows_of(x.shape), n = columns_of(x.shape), k = std::min(m, n);
  return {with_sides(x, {m, k}), with_sides(x, {k}), with_sides(x, {k, n})};
}

void eigh_reference(const OpCall& call, std::span<const TensorView> inputs,
                    std::span<const TensorView> outputs) {
  const Dim n = columns_of(call.input(0).shape);
  for_each_matrix(inputs, outputs, [&](auto a, auto&& result) {
    // Jacobi's method would go on for all its sweeps on a matrix with a NaN, so
    // that such matrices are answered first.
    if (spoil_factors(a, {result(0), result(1)})) return;
    eigen_factors(n, a.data(), result(0).data(), result(1).data());
  });
}

void svd_reference(const OpCall& call, std::span<const TensorView> inputs,
                   std::span<const TensorView> outputs) {
  const Shape& shape = call.input(0).shape;
  for_each_matrix(inputs, outputs, [&](auto a, auto&& result) {
    if (spoil_factors(a, {result(0), result(1), result(2)})) return;
    singular_factors(rows_of(shape), columns_of(shape), a.data(),
                     result(0).data(), result(1).data(), result(2).data());
  });
}

// s [..., k] to scale the columns, or the rows, of matrices.
Value as_row(const Value& s) {
  Shape shape(s.shape().first(s.shape().rank() - 1));
  shape.push_back(1);
  shape.push_back(s.shape().back());
  return reshape(s, shape);
}
Value as_diagonal_column(const Value& s) { return transposed(as_row(s)); }

// 1 / (s_j - s_i) off the diagonal, which is 0.
Value inverse_distances(const Value& s) {
  const Value own = identity(s.shape().back(), s.dtype());
  // The identity keeps the diagonal's divisor from 0. Where two values are
  // equal, the vectors are not unique and their gradient is infinite, which is
  // what comes out.
  return (1.0 - own) / (as_row(s) - as_diagonal_column(s) + own);
}

Gradients eigh_gradient(const GradientContext& g) {
  const Value& v = g.y(1);
  // With x = v diag(λ) vᵀ, dx = v (diag(dλ) + F ∘ (vᵀ dv)) vᵀ, where F_ij = 1 /
  // (λ_j - λ_i) (Giles).
  const Value turning = matmul(v, gradient_or_zeros(g, 1), {true, false});
  const Value inner =
      turning * inverse_distances(g.y(0)) +
      identity(v.shape().back(), v.dtype()) * as_row(gradient_or_zeros(g, 0));
  return {symmetric_part(matmul(matmul(v, inner), v, {false, true}))};
}

Gradients svd_gradient(const GradientContext& g) {
  const Value& u = g.y(0);
  const Value& s = g.y(1);
  const Value v = transposed(g.y(2));
  const Value du = gradient_or_zeros(g, 0);
  const Value dv = transposed(gradient_or_zeros(g, 2));
  // Townsend's factors are F_ij = 1 / (s_j² - s_i²).
  const Value factors = inverse_distances(square(s));
  const Value own = identity(s.shape().back(), s.dtype());
  const auto turning = [&](const Value& x, const Value& dx) {
    const Value product = matmul(x, dx, {true, false});
    // u and v turn only as antisymmetric matrices can: uᵀ du + duᵀ u = 0.
    return (product - transposed(product)) * factors;
  };
  const Value inner = turning(u, du) * as_row(s) +
                      as_diagonal_column(s) * turning(v, dv) +
                      own * as_row(gradient_or_zeros(g, 1));
  // What leaves the spaces that u and v span.
  const auto outside = [&](const Value& x, const Value& dx) {
    // This part exists only where a matrix is not square, or is cut to its thin
    // form; else it is 0.
    return (dx - matmul(x, matmul(x, dx, {true, false}))) / as_row(s);
  };
  return {matmul(matmul(u, inner) + outside(u, du), v, {false, true}) +
          matmul(u, outside(v, dv), {false, true})};
}

std::vector<OpSample> any_matrix_samples() {
  auto all = tall_samples();
  all.push_back({{floats({2, 2, 4})}, {}});
  return all;
}

}  // namespace

void register_spectral(OpRegistry& ops) {
  ops.add("eigh")
      .summary("eigenvalues, ascending, and vectors of (x + xᵀ) / 2")
      .signature("(x) -> values, vectors")
      .infer(infer_eigh)
      .reference(eigh_reference)
      .gradient(eigh_gradient)
      .batch(batch_rows)
      .cost(factor_cost<9>)
      .samples(square_samples);
  ops.add("svd")
      .summary("orthonormal u and vt, and s descending, with u diag(s) vt = x")
      .signature("(x) -> u, s, vt")
      .infer(infer_svd)
      .reference(svd_reference)
      .gradient(svd_gradient)
      .batch(batch_rows)
      .cost(factor_cost<20>)
      .samples(any_matrix_samples);
}

std::pair<Value, Value> eigh(const Operand& x) {
  static const OpDef& op = op_registry().get("eigh");
  auto results = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(results[0]), std::move(results[1])};
}

std::array<Value, 3> svd(const Operand& x) {
  static const OpDef& op = op_registry().get("svd");
  auto results = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(results[0]), std::move(results[1]), std::move(results[2])};
}

}  // namespace weft
