// Cholesky and QR factors, and what undoes a triangle. The gradients are those
// of Giles, "Collected matrix derivative results" (2008), written with the same
// ops again.
#include "weft/ops/linalg.h"

#include <limits>

#include "weft/graph/registry.h"
#include "weft/ops/matmul.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/factors.h"
#include "weft/ops/support/matrices.h"

namespace weft {
namespace {

using namespace matrices;  // NOLINT: this file's own support

std::vector<TensorType> infer_cholesky(const OpCall& call) {
  check_square(call);
  return {call.input(0)};
}

std::vector<TensorType> infer_triangular_solve(const OpCall& call) {
  check_square(call);
  check_matrix(call, 1);
  const TensorType& a = call.input(0);
  const TensorType& b = call.input(1);
  if (!(b == with_sides(a, {rows_of(a.shape), columns_of(b.shape)}))) {
    throw call.error("b must have the dtype, leading axes and rows of a");
  }
  return {b};
}

std::vector<TensorType> infer_qr(const OpCall& call) {
  check_matrix(call, 0);
  const TensorType& x = call.input(0);
  const Dim n = columns_of(x.shape);
  if (rows_of(x.shape) < n) {
    throw call.error("needs at least as many rows as columns, not {}",
                     to_string(x.shape));
  }
  return {x, with_sides(x, {n, n})};
}

void cholesky_reference(const OpCall& call, std::span<const TensorView> inputs,
                        std::span<const TensorView> outputs) {
  const Dim n = columns_of(call.input(0).shape);
  // A matrix that has no factor gives NaN for itself alone, and does not stop
  // the rest of a stack, as a throw would.
  for_each_matrix(inputs, outputs, [&](auto a, auto&& result) {
    const std::span<double> l = result(0);
    if (spoil_factors(a, {l})) return;
    if (cholesky_factor(n, a.data(), l.data())) return;
    std::ranges::fill(l, std::numeric_limits<double>::quiet_NaN());
  });
}

void triangular_solve_reference(const OpCall& call,
                                std::span<const TensorView> inputs,
                                std::span<const TensorView> outputs) {
  const Attributes& attributes = call.attributes;
  const Dim n = rows_of(call.input(1).shape);
  const Dim m = columns_of(call.input(1).shape);
  const auto a = to_doubles(inputs[0]);
  auto b = to_doubles(inputs[1]);
  // Matrices of no elements make no stack; the divisor is only kept from 0.
  for (std::size_t i = 0; i < b.size() / std::max<std::size_t>(at(n * m), 1);
       ++i) {
    substitute_rows(n, m, a.data() + i * at(n * n), b.data() + i * at(n * m),
                    attributes.flag("lower"), attributes.flag("transpose"),
                    attributes.flag("unit_diagonal"));
  }
  from_doubles(b, outputs[0]);
}

void qr_reference(const OpCall& call, std::span<const TensorView> inputs,
                  std::span<const TensorView> outputs) {
  const Shape& shape = call.input(0).shape;
  for_each_matrix(inputs, outputs, [&](auto a, auto&& result) {
    if (spoil_factors(a, {result(0), result(1)})) return;
    qr_factors(rows_of(shape), columns_of(shape), a.data(), result(0).data(),
               result(1).data());
  });
}

// S = L^-T Φ(Lᵀ dL) L^-1, Φ the lower triangle with half of the diagonal.
Gradients cholesky_gradient(const GradientContext& g) {
  const Value& l = g.y();
  // Only the lower triangle of Lᵀ dL enters: dL above the diagonal belongs to
  // numbers that are 0.
  const Value product = matmul(l, g.dy(), {true, false});
  const Value half = product * lower_weights(l.shape().back(), 0.5, l.dtype());
  const TriangularOptions across{.transpose = true};
  const Value left = triangular_solve(l, half, across);
  // The factor depends on the symmetric part of x alone, so that its gradient
  // is symmetric.
  return {symmetric_part(triangular_solve(l, transposed(left), across))};
}

Gradients triangular_solve_gradient(const GradientContext& g) {
  const Attributes& a = g.attributes();
  const TriangularOptions options{a.flag("lower"), !a.flag("transpose"),
                                  a.flag("unit_diagonal")};
  // With y = a⁻¹ b, db = a⁻ᵀ dy and da = -db yᵀ, of which only the triangle
  // counts that is read.
  const Value db = triangular_solve(g.x(0), g.dy(), options);
  const Value da = a.flag("transpose") ? matmul(g.y(), db, {false, true})
                                       : matmul(db, g.y(), {false, true});
  // A unit diagonal is not read from `a`, and gets no gradient.
  const Value lower = lower_weights(da.shape().back(),
                                    options.unit_diagonal ? 0 : 1, da.dtype());
  return {negate(da * (options.lower ? lower : transposed(lower))), db};
}

// dx = (dq + q copyltu(r drᵀ - dqᵀ q)) r^-T, copyltu the lower triangle, and
// the same mirrored.
Gradients qr_gradient(const GradientContext& g) {
  const Value& q = g.y(0);
  const Value& r = g.y(1);
  const Value dq = gradient_or_zeros(g, 0);
  const Value dr = gradient_or_zeros(g, 1);
  const Dim n = r.shape().back();
  const Value m = matmul(r, dr, {false, true}) - matmul(dq, q, {true, false});
  const Value mirrored = m * lower_weights(n, 1, m.dtype()) +
                         transposed(m * lower_weights(n, 0, m.dtype()));
  const Value inner = dq + matmul(q, mirrored);
  // Solving by r from the left, under transposes, stands for the product with
  // r^-T; no inverse is formed.
  return {transposed(triangular_solve(r, transposed(inner), {.lower = false}))};
}

Cost triangular_solve_cost(const OpCall& call) {
  return Cost::of(call,
                  static_cast<double>(call.input(1).shape.num_elements()) *
                      static_cast<double>(columns_of(call.input(0).shape)));
}

// Bounds keep them well conditioned: positive numbers of one row alone are
// certain to be positive definite.
std::vector<OpSample> cholesky_samples() {
  return {{{floats({3, 1, 1}, 0.5, 2)}, {}},
          {{floats({0, 2, 2})}, {}},
          {{floats({2, 1, 1}, 0.5, 2, DType::kF64)}, {}},
          {{floats({1, 1}, 0.5, 2, DType::kBF16)}, {}}};
}

// Numbers of about 1 on the diagonal keep the solutions small, and so the
// differences by which gradients are checked.
std::vector<OpSample> triangular_solve_samples() {
  std::vector<OpSample> all;
  for (const bool lower : {true, false})
    for (const bool transpose : {true, false})
      for (const bool unit : {true, false}) {
        all.push_back({{floats({2, 3, 3}, 1, 1.2), floats({2, 3, 2})},
                       {{"lower", lower},
                        {"transpose", transpose},
                        {"unit_diagonal", unit}}});
      }
  all.push_back({{floats({4, 4}, 1, 1.2), floats({4, 5})}, {}});
  all.push_back({{floats({0, 2, 2}), floats({0, 2, 3})}, {}});
  all.push_back({{floats({3, 3}, 1, 1.2, DType::kF64),
                  floats({3, 2}, -1, 1, DType::kF64)},
                 {}});
  return all;
}

}  // namespace

void register_linalg(OpRegistry& ops) {
  ops.add("cholesky")
      .summary("the lower triangle l with l lᵀ = (x + xᵀ) / 2")
      .signature("(x) -> l")
      .infer(infer_cholesky)
      .reference(cholesky_reference)
      .gradient(cholesky_gradient)
      .batch(batch_rows)
      .cost(factor_cost<1>)
      .samples(cholesky_samples);
  ops.add("triangular_solve")
      .summary("x with a x = b, or aᵀ x = b, for triangles a")
      .signature("(a, b) -> x")
      .attribute("lower", true)
      .attribute("transpose", false)
      .attribute("unit_diagonal", false)
      .infer(infer_triangular_solve)
      .reference(triangular_solve_reference)
      .gradient(triangular_solve_gradient)
      .batch(batch_rows)
      .cost(triangular_solve_cost)
      .samples(triangular_solve_samples);
  ops.add("qr")
      .summary("orthonormal columns q and an upper triangle r with q r = x")
      .signature("(x) -> q, r")
      .infer(infer_qr)
      .reference(qr_reference)
      .gradient(qr_gradient)
      .batch(batch_rows)
      .cost(factor_cost<4>)
      .samples(tall_samples);
}

Value cholesky(const Operand& x) {
  static const OpDef& op = op_registry().get("cholesky");
  return call(op, {x.value}, {}, x.location);
}

Value triangular_solve(const Operand& a, const Operand& b,
                       const TriangularOptions& options) {
  static const OpDef& op = op_registry().get("triangular_solve");
  return call(op, {a.value, b.value},
              {{"lower", options.lower},
               {"transpose", options.transpose},
               {"unit_diagonal", options.unit_diagonal}},
              a.location);
}

std::pair<Value, Value> qr(const Operand& x) {
  static const OpDef& op = op_registry().get("qr");
  auto results = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(results[0]), std::move(results[1])};
}

}  // namespace weft
