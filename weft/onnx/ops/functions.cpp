// Functions of one number at a time.
#include "weft/onnx/elementwise.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/bits.h"
#include "weft/ops/compare.h"
#include "weft/ops/exponential.h"
#include "weft/ops/hyperbolic.h"
#include "weft/ops/rounding.h"
#include "weft/ops/trigonometry.h"
#include "weft/ops/unary.h"

namespace weft::onnx {
namespace {

Value reciprocal(const Operand& x) { return scalar_like(*x.value, 1) / x; }

// Both are odd; near 0 the difference of exponentials would lose digits.
Value sinh(const Operand& x) {
  const Value& a = *x.value;
  return (expm1(a) - expm1(negate(a))) * 0.5;
}

Value cosh(const Operand& x) {
  const Value& a = *x.value;
  return (exp(a) + exp(negate(a))) * 0.5;
}

// Integers are whole already.
template <Value (*kRound)(const Operand&)>
Value rounded(const Operand& x) {
  return is_floating(x.value->dtype()) ? kRound(x) : *x.value;
}

void import_is_infinite(OnnxNode& node) {
  const bool wants_positive = node.integer("detect_positive", 1) != 0;
  const bool wants_negative = node.integer("detect_negative", 1) != 0;
  node.set(elementwise(node, 1, [&](std::span<const Value> x) {
    const Value zero = scalar_like(x[0], 0);
    Value is_infinite = logical_not(logical_or(is_finite(x[0]), is_nan(x[0])));
    if (wants_positive && wants_negative) return is_infinite;
    if (!wants_positive && !wants_negative) {
      return logical_and(is_infinite, logical_not(is_infinite));
    }
    return logical_and(is_infinite,
                       wants_positive ? greater(x[0], zero) : less(x[0], zero));
  }));
}

}  // namespace
}  // namespace weft::onnx

namespace weft {

void register_onnx_functions(OnnxRegistry& ops) {
  using namespace onnx;
  const std::pair<const char*, ImportFunction> functions[] = {
      {"Abs", import_unary<abs>},
      {"Acos", import_unary<acos>},
      {"Acosh", import_unary<acosh>},
      {"Asin", import_unary<asin>},
      {"Asinh", import_unary<asinh>},
      {"Atan", import_unary<atan>},
      {"Atanh", import_unary<atanh>},
      {"BitwiseNot", import_unary<bitwise_not>},
      {"Ceil", import_unary<rounded<ceil>>},
      {"Cos", import_unary<cos>},
      {"Cosh", import_unary<cosh>},
      {"Erf", import_unary<erf>},
      {"Exp", import_unary<exp>},
      {"Floor", import_unary<rounded<floor>>},
      {"IsNaN", import_unary<is_nan>},
      {"Log", import_unary<log>},
      {"Neg", import_unary<negate>},
      {"Not", import_unary<logical_not>},
      {"Reciprocal", import_unary<reciprocal>},
      {"Round", import_unary<rounded<round>>},
      {"Sign", import_unary<sign>},
      {"Sin", import_unary<sin>},
      {"Sinh", import_unary<sinh>},
      {"Sqrt", import_unary<sqrt>},
      {"Tan", import_unary<tan>},
  };
  for (const auto& [name, import] : functions) {
    ops.add({.name = name, .since = 1, .import = import});
  }
  ops.add({.name = "IsInf", .import = import_is_infinite});
}

}  // namespace weft
