// Arithmetic. Of the numbers of shapes, which may be dims with symbols, it is
// done at once.
#include "weft/ops/arithmetic.h"

#include <algorithm>

#include "weft/onnx/elementwise.h"
#include "weft/onnx/extents.h"
#include "weft/ops/compare.h"
#include "weft/ops/rounding.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

using ExtentFunction = std::optional<Extent> (*)(Extent, Extent);

// Computes with symbols if both operands are numbers of shapes, one of which
// has some. False if they are not, or where the result is no polynomial.
bool set_extents(OnnxNode& node, ExtentFunction function) {
  if (node.operand_count() != 2) return false;
  const OnnxValue& a = node.operand(0);
  const OnnxValue& b = node.operand(1);
  if (!a.is_symbolic() && !b.is_symbolic()) return false;
  const auto left = a.extents();
  const auto right = b.extents();
  if (!left || !right) return false;
  // One number beside several is used with each.
  const std::size_t count = std::max(left->size(), right->size());
  if ((left->size() != count && left->size() != 1) ||
      (right->size() != count && right->size() != 1)) {
    return false;
  }
  Extents results;
  for (std::size_t i = 0; i < count; ++i) {
    const auto result = function((*left)[left->size() == 1 ? 0 : i],
                                 (*right)[right->size() == 1 ? 0 : i]);
    if (!result) return false;
    results.push_back(*result);
  }
  const bool is_scalar = a.rank() == 0 && b.rank() == 0;
  node.set(OnnxValue::of(std::move(results), is_scalar, a.type().dtype));
  return true;
}

template <Value (*kFunction)(const Operand&, const Operand&),
          ExtentFunction kExtents>
void import_arithmetic(OnnxNode& node) {
  if (!set_extents(node, kExtents)) import_binary<kFunction>(node);
}

// Any number of operands.
template <Value (*kFunction)(const Operand&, const Operand&)>
OnnxValue folded(const OnnxNode& node) {
  return elementwise(node, 1, [](std::span<const Value> x) {
    Value result = x[0];
    for (const Value& each : x.subspan(1)) result = kFunction(result, each);
    return result;
  });
}

template <Value (*kFunction)(const Operand&, const Operand&),
          ExtentFunction kExtents>
void import_folded(OnnxNode& node) {
  if (!set_extents(node, kExtents)) node.set(folded<kFunction>(node));
}

void import_mean(OnnxNode& node) {
  const auto count = static_cast<double>(node.operand_count());
  const OnnxValue total = folded<add>(node);
  node.set(elementwise(std::span(&total, 1),
                       [&](std::span<const Value> x) { return x[0] / count; }));
}

// The base decides the dtype. A power of integers by floats is computed in
// floats, as 2^0.5 is 1 otherwise.
Value power_of(const Value& base, const Value& exponent) {
  if (base.dtype() == exponent.dtype()) return power(base, exponent);
  if (is_floating(exponent.dtype()) && !is_floating(base.dtype())) {
    return cast(power(cast(base, DType::kF64), cast(exponent, DType::kF64)),
                base.dtype());
  }
  return power(base, cast(exponent, base.dtype()));
}

void import_power(OnnxNode& node) {
  node.set(elementwise(
      node, 2, [](std::span<const Value> x) { return power_of(x[0], x[1]); }));
}

// `fmod` has the sign of the dividend, as C's function.
Value truncated_remainder(const Value& a, const Value& b) {
  const Value rest = remainder(abs(a), abs(b));
  return where(less(a, scalar_like(a, 0)), negate(rest), rest);
}

void import_modulo(OnnxNode& node) {
  const bool is_truncated = node.integer("fmod", 0) != 0;
  if (!is_truncated && set_extents(node, extent_remainder)) return;
  node.set(elementwise(node, 2, [&](std::span<const Value> x) {
    return is_truncated ? truncated_remainder(x[0], x[1])
                        : remainder(x[0], x[1]);
  }));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_arithmetic(OnnxRegistry& ops) {
  using namespace onnx;
  ops.add({.name = "Add", .import = import_arithmetic<add, extent_add>});
  ops.add(
      {.name = "Sub", .import = import_arithmetic<subtract, extent_subtract>});
  ops.add(
      {.name = "Mul", .import = import_arithmetic<multiply, extent_multiply>});
  ops.add({.name = "Div", .import = import_arithmetic<divide, extent_divide>});
  ops.add({.name = "Pow", .import = import_power});
  ops.add({.name = "Mod", .import = import_modulo});
  ops.add({.name = "Max", .import = import_folded<maximum, extent_max>});
  ops.add({.name = "Min", .import = import_folded<minimum, extent_min>});
  ops.add({.name = "Sum", .import = import_folded<add, extent_add>});
  ops.add({.name = "Mean", .import = import_mean});
}

}  // namespace weft
