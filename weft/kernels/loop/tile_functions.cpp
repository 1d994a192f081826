// Functions of tiles of f32, and the table of all ops that have one.
#include "weft/kernels/loop/tile_functions.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/loop/tile_functions.cpp"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <hwy/foreach_target.h>
#include <limits>

#include "weft/kernels/loop/map_tile.h"
#include "weft/kernels/loop/wide_tiles.h"
#include "weft/kernels/simd/floor_division.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/hyperbolic.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/trigonometry.h"
#include "weft/kernels/simd/vector_libm.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Lanes = hn::ScalableTag<float>;
using Vector = hn::Vec<Lanes>;

template <int kArity, class F>
void map(const Tile& tile, F f) noexcept {
  map_tile<float, kArity>(tile, f);
}

// Tile functions of vector functions of one and of two operands.
template <Vector (*kFunction)(Vector)>
void unary(const Tile& tile) noexcept {
  map<1>(tile, [](auto x) { return kFunction(x); });
}
template <Vector (*kFunction)(Vector, Vector)>
void binary(const Tile& tile) noexcept {
  map<2>(tile, [](auto a, auto b) { return kFunction(a, b); });
}

Vector one() { return hn::Set(Lanes(), 1.0f); }
Vector zero() { return hn::Zero(Lanes()); }
// Tiles carry truth values as 0 and 1, like all else in f32.
template <class Mask>
Vector truth(Mask mask) {
  return hn::IfThenElseZero(mask, one());
}
// Highway's Ne is false for NaN on some machines; C++'s != is true.
auto differ(Vector a, Vector b) { return hn::Not(hn::Eq(a, b)); }
auto is_true(Vector x) { return differ(x, zero()); }

// --- Arithmetic -----------------------------------------------------------
void add(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return hn::Add(a, b); });
}
void subtract(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return hn::Sub(a, b); });
}
void multiply(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return hn::Mul(a, b); });
}
void divide(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return hn::Div(a, b); });
}
// A NaN in either operand stays one.
void maximum(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) {
    // x86 returns the second operand where either is NaN, so that only a NaN in
    // `a` would get lost.
    return hn::IfThenElse(hn::IsNaN(a), a, hn::Max(a, b));
  });
}
void minimum(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) {
    return hn::IfThenElse(hn::IsNaN(a), a, hn::Min(a, b));
  });
}

// --- Comparison and logic -------------------------------------------------
void equal(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return truth(hn::Eq(a, b)); });
}
void not_equal(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return truth(differ(a, b)); });
}
void less(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return truth(hn::Lt(a, b)); });
}
void less_equal(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return truth(hn::Le(a, b)); });
}
void greater(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return truth(hn::Gt(a, b)); });
}
void greater_equal(const Tile& t) noexcept {
  map<2>(t, [](auto a, auto b) { return truth(hn::Ge(a, b)); });
}
void logical_and(const Tile& t) noexcept {
  map<2>(t,
         [](auto a, auto b) { return truth(hn::And(is_true(a), is_true(b))); });
}
void logical_or(const Tile& t) noexcept {
  map<2>(t,
         [](auto a, auto b) { return truth(hn::Or(is_true(a), is_true(b))); });
}
void logical_xor(const Tile& t) noexcept {
  map<2>(t,
         [](auto a, auto b) { return truth(hn::Xor(is_true(a), is_true(b))); });
}
void logical_not(const Tile& t) noexcept {
  map<1>(t, [](auto a) { return truth(hn::Eq(a, zero())); });
}
void is_finite(const Tile& t) noexcept {
  const auto infinity = hn::Set(Lanes(), HUGE_VALF);
  map<1>(t, [&](auto x) { return truth(hn::Lt(hn::Abs(x), infinity)); });
}
void is_nan(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return truth(differ(x, x)); });
}
void where(const Tile& t) noexcept {
  map<3>(t, [](auto c, auto a, auto b) {
    return hn::IfThenElse(is_true(c), a, b);
  });
}

// --- Bits -------------------------------------------------------------------
// Integers here have at most 16 bits, which f32 holds exactly. What stands
// above the bits of their dtype is cut off by the cast that follows an op of
// integers (`wrap` below).
template <int kArity, class F>
void map_words(const Tile& tile, F f) noexcept {
  const hn::Rebind<std::int32_t, Lanes> words;
  map<kArity>(tile, [&](auto... x) {
    return hn::ConvertTo(Lanes(), f(hn::ConvertTo(words, x)...));
  });
}
void bitwise_and(const Tile& t) noexcept {
  map_words<2>(t, [](auto a, auto b) { return hn::And(a, b); });
}
void bitwise_or(const Tile& t) noexcept {
  map_words<2>(t, [](auto a, auto b) { return hn::Or(a, b); });
}
void bitwise_xor(const Tile& t) noexcept {
  map_words<2>(t, [](auto a, auto b) { return hn::Xor(a, b); });
}
void bitwise_not(const Tile& t) noexcept {
  map_words<1>(t, [](auto x) { return hn::Not(x); });
}
// What moves every bit out of a number of 16 bits: 31, or, as an unsigned one,
// any negative count.
template <class Words>
Words held_count(Words count) {
  const hn::Rebind<std::int32_t, Lanes> words;
  const hn::Rebind<std::uint32_t, Lanes> counts;
  return hn::BitCast(words,
                     hn::Min(hn::BitCast(counts, count), hn::Set(counts, 31u)));
}
void shift_left(const Tile& t) noexcept {
  map_words<2>(
      t, [](auto a, auto count) { return hn::Shl(a, held_count(count)); });
}
void shift_right(const Tile& t) noexcept {
  map_words<2>(
      t, [](auto a, auto count) { return hn::Shr(a, held_count(count)); });
}

// --- Functions of one operand ----------------------------------------------
void negate(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Neg(x); });
}
void sqrt(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Sqrt(x); });
}
void rsqrt(const Tile& t) noexcept {
  // Highway's approximation would differ from what generated code computes.
  map<1>(t, [](auto x) { return hn::Div(one(), hn::Sqrt(x)); });
}
void square(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Mul(x, x); });
}
// Max keeps its second operand when either is NaN.
void relu(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Max(zero(), x); });
}

void gelu(const Tile& t) noexcept {
  map<1>(t, [](auto x) {
    const Lanes d;
    // GELU is x Phi(x), with Phi(x) = (1 + erf(x / sqrt(2))) / 2 (Hendrycks and
    // Gimpel, 2016).
    const auto inner = simd::erf(hn::Mul(x, hn::Set(d, 0.70710678f)));
    return hn::Mul(hn::Mul(x, hn::Set(d, 0.5f)), hn::Add(one(), inner));
  });
}
void abs(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Abs(x); });
}
void sign(const Tile& t) noexcept {
  map<1>(t, [](auto x) {
    const auto sign =
        hn::Sub(truth(hn::Gt(x, zero())), truth(hn::Lt(x, zero())));
    // Both comparisons are false for NaN, which would make it 0.
    return hn::IfThenElse(hn::IsNaN(x), x, sign);
  });
}
void floor(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Floor(x); });
}
void ceil(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Ceil(x); });
}
// Halves go to even.
void round(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return hn::Round(x); });
}
void clamp(const Tile& t) noexcept {
  const auto low = hn::Set(Lanes(), static_cast<float>(t.parameters[0]));
  const auto high = hn::Set(Lanes(), static_cast<float>(t.parameters[1]));
  // x stands second, which x86 returns where either is NaN.
  map<1>(t, [&](auto x) { return hn::Min(high, hn::Max(low, x)); });
}

// --- Casts ------------------------------------------------------------------
void copy(const Tile& t) noexcept {
  // The result may be the operand, which memcpy does not allow.
  if (t.y == t.x[0]) return;
  std::memcpy(t.y, t.x[0], static_cast<std::size_t>(t.size) * sizeof(float));
}
void to_bool(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return truth(is_true(x)); });
}
void to_bf16(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return simd::round_to_bf16(x); });
}
void to_f16(const Tile& t) noexcept {
  map<1>(t, [](auto x) { return simd::round_to_f16(x); });
}
// A float, truncated; what T cannot hold becomes the nearest that it can, and
// NaN becomes 0. Integers have no -0, hence the addition.
template <class T>
void saturate(const Tile& t) noexcept {
  const auto least = hn::Set(Lanes(), std::numeric_limits<T>::min());
  const auto most = hn::Set(Lanes(), std::numeric_limits<T>::max());
  map<1>(t, [&](auto x) {
    const auto held = hn::Min(most, hn::Max(least, x));
    const auto number = hn::IfThenElseZero(hn::Eq(x, x), held);
    return hn::Add(hn::Trunc(number), zero());
  });
}

// The low bits of an integer that T may not hold. A quotient by 0, which is no
// integer, gives 0, and others are truncated: see divide in ops/arithmetic.cpp.
template <class T>
void wrap(const Tile& t) noexcept {
  constexpr int kHigh = 32 - 8 * static_cast<int>(sizeof(T));
  using Word =
      std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>;
  const hn::Rebind<std::int32_t, Lanes> integers;
  const hn::Rebind<Word, Lanes> words;
  map<1>(t, [&](auto x) {
    // Beyond 2^31 the conversion has no defined result; NaN and infinity are
    // not below it, either.
    const auto held = hn::Lt(hn::Abs(x), hn::Set(Lanes(), 0x1p31f));
    const auto whole = hn::ConvertTo(integers, hn::IfThenElseZero(held, x));
    // Shifting up and down again keeps the low bits, and repeats the sign where
    // T has one.
    const auto high = hn::ShiftLeft<kHigh>(hn::BitCast(words, whole));
    const auto low = hn::BitCast(integers, hn::ShiftRight<kHigh>(high));
    return hn::ConvertTo(Lanes(), low);
  });
}

std::array<double, 2> clamp_parameters(const Attributes& attributes) {
  return {attributes.real("low"), attributes.real("high")};
}

constexpr TileOp kTileOps[] = {
    {"add", 2, add, Opcode::kAdd},
    {"subtract", 2, subtract, Opcode::kSubtract},
    {"multiply", 2, multiply, Opcode::kMultiply},
    {"divide", 2, divide, Opcode::kDivide},
    {"maximum", 2, maximum, Opcode::kMaximum},
    {"minimum", 2, minimum, Opcode::kMinimum},
    {"power", 2, binary<simd::pow>, Opcode::kCall},
    {"floor_divide", 2, binary<simd::floor_divide>, Opcode::kCall},
    {"remainder", 2, binary<simd::remainder>, Opcode::kCall},
    {"atan2", 2, binary<simd::atan2>, Opcode::kCall},
    {"equal", 2, equal, Opcode::kEqual},
    {"not_equal", 2, not_equal, Opcode::kNotEqual},
    {"less", 2, less, Opcode::kLess},
    {"less_equal", 2, less_equal, Opcode::kLessEqual},
    {"greater", 2, greater, Opcode::kGreater},
    {"greater_equal", 2, greater_equal, Opcode::kGreaterEqual},
    {"logical_and", 2, logical_and, Opcode::kAnd},
    {"logical_or", 2, logical_or, Opcode::kOr},
    {"logical_xor", 2, logical_xor, Opcode::kXor},
    {"logical_not", 1, logical_not, Opcode::kNot},
    {"is_finite", 1, is_finite, Opcode::kIsFinite},
    {"is_nan", 1, is_nan, Opcode::kIsNan},
    {"bitwise_and", 2, bitwise_and, Opcode::kCall},
    {"bitwise_or", 2, bitwise_or, Opcode::kCall},
    {"bitwise_xor", 2, bitwise_xor, Opcode::kCall},
    {"bitwise_not", 1, bitwise_not, Opcode::kCall},
    {"shift_left", 2, shift_left, Opcode::kCall},
    {"shift_right", 2, shift_right, Opcode::kCall},
    {"where", 3, where, Opcode::kWhere},
    {"negate", 1, negate, Opcode::kNegate},
    {"exp", 1, unary<simd::exp>, Opcode::kCall},
    {"expm1", 1, unary<simd::expm1>, Opcode::kCall},
    {"log", 1, unary<simd::log>, Opcode::kCall},
    {"log1p", 1, unary<simd::log1p>, Opcode::kCall},
    {"sin", 1, unary<simd::sin>, Opcode::kCall},
    {"cos", 1, unary<simd::cos>, Opcode::kCall},
    {"tan", 1, unary<simd::tan>, Opcode::kCall},
    {"asin", 1, unary<simd::asin>, Opcode::kCall},
    {"acos", 1, unary<simd::acos>, Opcode::kCall},
    {"atan", 1, unary<simd::atan>, Opcode::kCall},
    {"asinh", 1, unary<simd::asinh>, Opcode::kCall},
    {"acosh", 1, unary<simd::acosh>, Opcode::kCall},
    {"atanh", 1, unary<simd::atanh>, Opcode::kCall},
    {"sqrt", 1, sqrt, Opcode::kSqrt},
    {"rsqrt", 1, rsqrt, Opcode::kRsqrt},
    {"square", 1, square, Opcode::kSquare},
    {"tanh", 1, unary<simd::tanh>, Opcode::kCall},
    {"sigmoid", 1, unary<simd::sigmoid>, Opcode::kCall},
    {"relu", 1, relu, Opcode::kRelu},
    {"gelu", 1, gelu, Opcode::kCall},
    {"erf", 1, unary<simd::erf>, Opcode::kCall},
    {"abs", 1, abs, Opcode::kAbs},
    {"sign", 1, sign, Opcode::kSign},
    {"floor", 1, floor, Opcode::kFloor},
    {"ceil", 1, ceil, Opcode::kCeil},
    {"round", 1, round, Opcode::kRound},
    {"clamp", 1, clamp, Opcode::kClamp, clamp_parameters},
};

std::span<const TileOp> all_ops() { return kTileOps; }

template <class T>
TileOp cast_to_integer(DType from, Opcode saturating = Opcode::kCall) {
  if (!is_floating(from)) return {"cast", 1, wrap<T>, Opcode::kCall};
  return {"cast", 1, saturate<T>, saturating};
}

TileOp cast(DType from, DType to) {
  switch (to) {
    case DType::kBool:
      return {"cast", 1, to_bool, Opcode::kToBool};
    case DType::kBF16:
      return {"cast", 1, to_bf16, Opcode::kToBf16};
    case DType::kF16:
      return {"cast", 1, to_f16, Opcode::kToF16};
    case DType::kI8:
      return cast_to_integer<std::int8_t>(from, Opcode::kToI8);
    case DType::kU8:
      return cast_to_integer<std::uint8_t>(from, Opcode::kToU8);
    case DType::kI16:
      return cast_to_integer<std::int16_t>(from);
    default:
      return {"cast", 1, copy, Opcode::kCopy};
  }
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

std::span<const TileOp> all_tile_ops() { return WEFT_FOR_MACHINE(all_ops)(); }

TileOp tile_cast(DType from, DType to, TileType type) {
  if (type == TileType::kF32) return WEFT_FOR_MACHINE(cast)(from, to);
  return {"cast", 1, wide_cast(type, to), Opcode::kCall};
}

}  // namespace weft
#endif
