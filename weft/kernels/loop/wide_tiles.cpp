// Loops over single elements, of which the compiler makes vectors where it can:
// what an op is of one number is said once, in ops/support/scalar_functions.h.
#include "weft/kernels/loop/wide_tiles.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/loop/wide_tiles.cpp"
#include <bit>
#include <functional>
#include <hwy/foreach_target.h>
#include <type_traits>

#include "weft/kernels/loop/map_tile.h"
#include "weft/kernels/simd/floor_division.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/hyperbolic.h"
#include "weft/kernels/simd/targets.h"
#include "weft/kernels/simd/trigonometry.h"
#include "weft/kernels/simd/vector_libm.h"
#include "weft/ops/support/scalar_functions.h"
#include "weft/tensor/round_to_odd.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A truth is chosen, not converted: vectors can do that.
template <class T, class Result>
T as_number(Result result) {
  if constexpr (std::is_same_v<Result, bool>)
    return result ? T{1} : T{0};
  else
    return static_cast<T>(result);
}

// A result may be written over an operand, element by element: the loops say
// `simd`, as the compiler would else take that for an overlap.
template <class T, auto kFunction>
void unary(const Tile& tile) noexcept {
  const auto* x = static_cast<const T*>(tile.x[0]);
  auto* y = static_cast<T*>(tile.y);
#pragma omp simd
  for (std::int64_t i = 0; i < tile.size; ++i) {
    y[i] = as_number<T>(kFunction(x[i]));
  }
}

template <class T, auto kFunction>
void binary(const Tile& tile) noexcept {
  const auto* a = static_cast<const T*>(tile.x[0]);
  const auto* b = static_cast<const T*>(tile.x[1]);
  auto* y = static_cast<T*>(tile.y);
#pragma omp simd
  for (std::int64_t i = 0; i < tile.size; ++i) {
    y[i] = as_number<T>(kFunction(a[i], b[i]));
  }
}

template <class T>
void where(const Tile& tile) noexcept {
  const auto* condition = static_cast<const T*>(tile.x[0]);
  const auto* a = static_cast<const T*>(tile.x[1]);
  const auto* b = static_cast<const T*>(tile.x[2]);
  auto* y = static_cast<T*>(tile.y);
#pragma omp simd
  for (std::int64_t i = 0; i < tile.size; ++i) {
    const T yes = a[i];  // both are read, as no branch is faster
    const T no = b[i];
    y[i] = condition[i] != 0 ? yes : no;
  }
}

template <class T>
void clamp(const Tile& tile) noexcept {
  const auto* x = static_cast<const T*>(tile.x[0]);
  auto* y = static_cast<T*>(tile.y);
  // A limit that T cannot hold becomes the last number that it can.
  const auto low = weft::saturate<T>(tile.parameters[0]);
  const auto high = weft::saturate<T>(tile.parameters[1]);
#pragma omp simd
  for (std::int64_t i = 0; i < tile.size; ++i) {
    y[i] = x[i] < low ? low : x[i] > high ? high : x[i];  // NaN stays
  }
}

// The names are those of ops, by which find_tile_op() looks.
template <class T>
std::vector<WideFunction> of_numbers() {
  return {
      {"add", binary<T, kAdd>},
      {"subtract", binary<T, kSubtract>},
      {"multiply", binary<T, kMultiply>},
      {"divide", binary<T, kDivide>},
      {"maximum", binary<T, kMaximum>},
      {"minimum", binary<T, kMinimum>},
      {"equal", binary<T, std::equal_to<>{}>},
      {"not_equal", binary<T, std::not_equal_to<>{}>},
      {"less", binary<T, std::less<>{}>},
      {"less_equal", binary<T, std::less_equal<>{}>},
      {"greater", binary<T, std::greater<>{}>},
      {"greater_equal", binary<T, std::greater_equal<>{}>},
      {"is_finite", unary<T, kIsFinite>},
      {"is_nan", unary<T, kIsNan>},
      {"where", where<T>},
      {"negate", unary<T, kNegate>},
      {"square", unary<T, kSquare>},
      {"relu", unary<T, kRelu>},
      {"abs", unary<T, kAbs>},
      {"sign", unary<T, kSign>},
      {"clamp", clamp<T>},
  };
}

constexpr auto kNot = []<class T>(T x) { return static_cast<T>(~x); };
constexpr auto kLeft = []<class T>(T a, T by) {
  return kShiftLeft(a, by, static_cast<T>(8 * sizeof(T)));
};
constexpr auto kRight = []<class T>(T a, T by) {
  return kShiftRight(a, by, static_cast<T>(8 * sizeof(T)));
};

void floor_divide_wide(const Tile& tile) noexcept {
  map_tile<std::int64_t, 2>(
      tile, [](auto a, auto b) { return simd::floor_divide_wide(a, b); });
}

template <class T>
std::vector<WideFunction> of_integers() {
  auto functions = of_numbers<T>();
  constexpr bool kIsWide = sizeof(T) == sizeof(std::int64_t);
  functions.insert(
      functions.end(),
      {{"power", binary<T, kPower>},
       {"floor_divide", kIsWide ? floor_divide_wide : binary<T, kFloorDivide>},
       {"remainder", binary<T, kRemainder>},
       {"bitwise_and", binary<T, kBitwiseAnd>},
       {"bitwise_or", binary<T, kBitwiseOr>},
       {"bitwise_xor", binary<T, kBitwiseXor>},
       {"bitwise_not", unary<T, kNot>},
       {"shift_left", binary<T, kLeft>},
       {"shift_right", binary<T, kRight>}});
  return functions;
}

// Functions that the compiler makes no vectors of.
template <simd::DoubleVector (*kFunction)(simd::DoubleVector)>
void of_vectors(const Tile& tile) noexcept {
  map_tile<double, 1>(tile, [](auto x) { return kFunction(x); });
}

template <simd::DoubleVector (*kFunction)(simd::DoubleVector,
                                          simd::DoubleVector)>
void of_vectors(const Tile& tile) noexcept {
  map_tile<double, 2>(tile, [](auto a, auto b) { return kFunction(a, b); });
}

// This is kGelu of ops/support/scalar_functions.h.
simd::DoubleVector gelu(simd::DoubleVector x) {
  const auto half = hn::Mul(simd::broadcast_double(0.5), x);
  const auto inner =
      // Φ(x) = erfc(-x / √2) / 2 keeps its digits far below 0, where 1 + erf
      // would cancel.
      hn::Mul(hn::Neg(x), simd::broadcast_double(std::numbers::sqrt2 / 2));
  return hn::Mul(half, simd::erfc(inner));
}

std::vector<WideFunction> of_doubles() {
  auto functions = of_numbers<double>();
  functions.insert(functions.end(),
                   {{"exp", of_vectors<simd::exp>},
                    {"expm1", of_vectors<simd::expm1>},
                    {"log", of_vectors<simd::log>},
                    {"log1p", of_vectors<simd::log1p>},
                    {"sqrt", unary<double, kSqrt>},
                    {"rsqrt", unary<double, kRsqrt>},
                    {"tanh", of_vectors<simd::tanh>},
                    {"sigmoid", of_vectors<simd::sigmoid>},
                    {"erf", of_vectors<simd::erf>},
                    {"gelu", of_vectors<gelu>},
                    {"floor", unary<double, kFloor>},
                    {"ceil", unary<double, kCeil>},
                    {"round", unary<double, kRound>},
                    {"sin", of_vectors<simd::sin>},
                    {"cos", of_vectors<simd::cos>},
                    {"tan", of_vectors<simd::tan>},
                    {"asin", of_vectors<simd::asin>},
                    {"acos", of_vectors<simd::acos>},
                    {"atan", of_vectors<simd::atan>},
                    {"asinh", of_vectors<simd::asinh>},
                    {"acosh", of_vectors<simd::acosh>},
                    {"atanh", of_vectors<simd::atanh>},
                    {"atan2", of_vectors<simd::atan2>},
                    {"power", of_vectors<simd::pow>},
                    {"floor_divide", of_vectors<simd::floor_divide>},
                    {"remainder", of_vectors<simd::remainder>}});
  return functions;
}

std::vector<WideFunction> functions(TileType type) {
  switch (type) {
    case TileType::kI32:
      return of_integers<std::int32_t>();
    case TileType::kI64:
      return of_integers<std::int64_t>();
    default:
      return of_doubles();
  }
}

// --- Casts ------------------------------------------------------------------
template <class T>
constexpr bool is_half =
    std::is_same_v<T, bfloat16> || std::is_same_v<T, float16>;

// Converts as the op says; what leaves T for an integer of T's kind keeps its
// low bits.
template <class T, class To>
T converted(T x) {
  if constexpr (std::is_same_v<To, bool>) {
    return static_cast<T>(x != 0);
  } else if constexpr (is_half<To>) {
    // It is rounded to the narrow dtype and stays a T, as a tile holds one
    // type.
    return static_cast<T>(
        static_cast<float>(To(round_to_odd(static_cast<double>(x)))));
  } else if constexpr (std::is_floating_point_v<T> && std::is_integral_v<To>) {
    return static_cast<T>(weft::saturate<To>(x));
  } else {
    return static_cast<T>(static_cast<To>(x));
  }
}

// Calls `body` with a number of the type's.
template <class Body>
auto with_number(TileType type, Body&& body) {
  switch (type) {
    case TileType::kI32:
      return body(std::int32_t{});
    case TileType::kI64:
      return body(std::int64_t{});
    default:
      return body(double{});
  }
}

TileFunction cast(TileType type, DType to) {
  return with_number(type, [&]<class T>(T) {
    return dispatch(to, [&]<class To>(To) -> TileFunction {
      return unary<T, converted<T, To>>;
    });
  });
}

// --- Memory -----------------------------------------------------------------
// A truth is +0 or 1, so that its bits can be compared. Comparing doubles takes
// longer.
bool is_set(std::int32_t truth) { return truth != 0; }
bool is_set(std::int64_t truth) { return truth != 0; }
bool is_set(double truth) { return std::bit_cast<std::int64_t>(truth) != 0; }

// The compiler makes vectors of bools once they are read as bytes, and of small
// integers that become doubles by way of an int.
template <class T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
template <class From, class To>
constexpr bool is_half_way = std::is_floating_point_v<To> &&
                             sizeof(From) < sizeof(int);

void load(TileType type, DType dtype, const void* source, void* tile,
          std::int64_t size) noexcept {
  with_number(type, [&]<class T>(T) {
    dispatch(dtype, [&]<class From>(From) {
      const auto* x = static_cast<const Stored<From>*>(source);
      auto* y = static_cast<T*>(tile);
      for (std::int64_t i = 0; i < size; ++i) {
        // A float of 16 bits becomes f32 first, which is exact.
        if constexpr (is_half<From>)
          y[i] = static_cast<T>(static_cast<float>(x[i]));
        else if constexpr (is_half_way<From, T>)
          y[i] = static_cast<T>(static_cast<int>(x[i]));
        else
          // An i8 is a number. NOLINTNEXTLINE(bugprone-signed-char-misuse)
          y[i] = static_cast<T>(x[i]);
      }
    });
  });
}

void store(TileType type, DType dtype, const void* tile, void* target,
           std::int64_t size) noexcept {
  with_number(type, [&]<class T>(T) {
    dispatch(dtype, [&]<class To>(To) {
      const auto* x = static_cast<const T*>(tile);
      auto* y = static_cast<To*>(target);
      for (std::int64_t i = 0; i < size; ++i) {
        if constexpr (std::is_same_v<To, bool>)
          y[i] = is_set(x[i]);
        else if constexpr (is_half<To>)
          y[i] = To(round_to_odd(static_cast<double>(x[i])));
        else
          y[i] = static_cast<To>(x[i]);
      }
    });
  });
}

void accumulate(TileType type, const void* x, void* sum,
                std::int64_t size) noexcept {
  with_number(type, [&]<class T>(T) {
    // A tile function may write over an operand, so that the sum is both.
    binary<T, kAdd>({{x, sum, nullptr}, sum, size, {}});
  });
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

std::vector<WideFunction> wide_functions(TileType type) {
  return WEFT_FOR_MACHINE(functions)(type);
}

TileFunction wide_cast(TileType type, DType to) {
  return WEFT_FOR_MACHINE(cast)(type, to);
}

void load_wide(TileType type, DType dtype, const void* source, void* tile,
               std::int64_t size) noexcept {
  WEFT_FOR_MACHINE(load)(type, dtype, source, tile, size);
}

void store_wide(TileType type, DType dtype, const void* tile, void* target,
                std::int64_t size) noexcept {
  WEFT_FOR_MACHINE(store)(type, dtype, tile, target, size);
}

void accumulate_wide(TileType type, const void* x, void* sum,
                     std::int64_t size) noexcept {
  WEFT_FOR_MACHINE(accumulate)(type, x, sum, size);
}

}  // namespace weft
#endif
