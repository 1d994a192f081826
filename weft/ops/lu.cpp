// Elimination with row pivots. The gradient follows from l⁻¹ dx u⁻¹ = l⁻¹ dl +
// du u⁻¹, whose parts are a strict lower and an upper triangle.
#include <limits>
#include <numeric>

#include "weft/graph/registry.h"
#include "weft/ops/linalg.h"
#include "weft/ops/matmul.h"
#include "weft/ops/pick.h"
#include "weft/ops/shape.h"
#include "weft/ops/sort.h"
#include "weft/ops/support/batching.h"
#include "weft/ops/support/factors.h"
#include "weft/ops/support/matrices.h"

namespace weft {
namespace {

using namespace matrices;  // NOLINT: this file's own support

std::vector<TensorType> infer_lu(const OpCall& call) {
  check_square(call);
  const TensorType& x = call.input(0);
  const TensorType order = with_sides(x, {columns_of(x.shape)});
  return {x, {DType::kI64, order.shape}, with_sides(x, {})};
}

void lu_reference(const OpCall& call, std::span<const TensorView> inputs,
                  std::span<const TensorView> outputs) {
  const Dim n = columns_of(call.input(0).shape);
  if (n == 0) {
    // Where there are no rows, they are in order.
    from_doubles(std::vector<double>(at(outputs[2].size()), 1), outputs[2]);
    return;
  }
  for_each_matrix(inputs, outputs, [&](auto a, auto&& result) {
    std::ranges::copy(a, result(0).begin());
    if (spoil_factors(a, {result(0), result(2)})) {
      std::iota(result(1).begin(), result(1).end(), 0.0);
      return;
    }
    result(2)[0] = lu_factors(n, result(0).data(), result(1).data());
  });
}

Gradients lu_gradient(const GradientContext& g) {
  if (!g.dy(0).is_defined()) return {zeros_like(g.x(0))};
  const Value& factors = g.y(0);
  const Dim n = factors.shape().back();
  const DType dtype = factors.dtype();
  const Value below = lower_weights(n, 0, dtype);
  const Value above = 1.0 - below;
  const Value l = factors * below + identity(n, dtype);
  const Value u = factors * above;
  const Value inner = matmul(l, g.dy(0) * below, {true, false}) * below +
                      matmul(g.dy(0) * above, u, {false, true}) * above;
  // dx has l⁻ᵀ inner u⁻ᵀ in the order of the pivots.
  const Value left = triangular_solve(
      factors, inner, {.transpose = true, .unit_diagonal = true});
  const Value ordered =
      transposed(triangular_solve(factors, transposed(left), {.lower = false}));
  const Value places = sort(g.y(1)).second;
  Shape column = places.shape();
  column.push_back(1);
  return {pick(ordered, broadcast_to(reshape(places, column), ordered.shape()),
               -2)};
}

}  // namespace

void register_lu(OpRegistry& ops) {
  ops.add("lu")
      .summary(
          "triangles l and u in one matrix, the order of rows and its sign, "
          "with l u = x[order]; ones stand for l's diagonal")
      .signature("(x) -> factors, order, sign")
      .infer(infer_lu)
      .reference(lu_reference)
      .gradient(lu_gradient)
      .batch(batch_rows)
      .cost(factor_cost<1>)
      .samples(square_samples);
}

std::array<Value, 3> lu(const Operand& x) {
  static const OpDef& op = op_registry().get("lu");
  auto results = call_all(op, {x.value, 1}, {}, x.location);
  return {std::move(results[0]), std::move(results[1]), std::move(results[2])};
}

}  // namespace weft
