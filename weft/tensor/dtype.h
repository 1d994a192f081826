// Element types, and the C++ types that carry them.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

namespace weft {

enum class DType : std::uint8_t {
  kF32,
  kF64,
  kF16,
  kBF16,
  kI8,
  kU8,
  kI16,
  kI32,
  kI64,
  kBool,
};

// The upper half of an f32. Arithmetic happens in f32; this only stores.
struct bfloat16 {
  std::uint16_t bits = 0;

  bfloat16() = default;
  // Round to nearest, ties to even; NaN stays NaN.
  explicit bfloat16(float value) {
    const auto word = std::bit_cast<std::uint32_t>(value);
    const bool is_nan = (word & 0x7fffffffu) > 0x7f800000u;
    const std::uint32_t rounded = word + 0x7fffu + ((word >> 16) & 1u);
    bits =
        static_cast<std::uint16_t>((is_nan ? word | 0x400000u : rounded) >> 16);
  }
  explicit operator float() const {
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
  }
};

// IEEE 754 binary16, as storage.
struct float16 {
  std::uint16_t bits = 0;

  float16() = default;
  explicit float16(float value);
  explicit operator float() const;
};

constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kI64:
      return 8;
    case DType::kF32:
    case DType::kI32:
      return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16:
      return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool:
      return 1;
  }
  return 0;
}

constexpr bool is_floating(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF64 || dtype == DType::kF16 ||
         dtype == DType::kBF16;
}

constexpr bool is_integer(DType dtype) {
  return !is_floating(dtype) && dtype != DType::kBool;
}

// "f32", "bf16", "bool", ….
std::string_view to_string(DType dtype);
std::optional<DType> dtype_from_string(std::string_view name);

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::kF32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::kF64;
  else if constexpr (std::is_same_v<T, float16>)
    return DType::kF16;
  else if constexpr (std::is_same_v<T, bfloat16>)
    return DType::kBF16;
  else if constexpr (std::is_same_v<T, std::int8_t>)
    return DType::kI8;
  else if constexpr (std::is_same_v<T, std::uint8_t>)
    return DType::kU8;
  else if constexpr (std::is_same_v<T, std::int16_t>)
    return DType::kI16;
  else if constexpr (std::is_same_v<T, std::int32_t>)
    return DType::kI32;
  else if constexpr (std::is_same_v<T, std::int64_t>)
    return DType::kI64;
  else {
    static_assert(std::is_same_v<T, bool>, "not an element type");
    return DType::kBool;
  }
}

// Calls `body` with a value of the C++ type that carries `dtype`.
template <class Body>
decltype(auto) dispatch(DType dtype, Body&& body) {
  switch (dtype) {
    case DType::kF64:
      return body(double{});
    case DType::kF16:
      return body(float16{});
    case DType::kBF16:
      return body(bfloat16{});
    case DType::kI8:
      return body(std::int8_t{});
    case DType::kU8:
      return body(std::uint8_t{});
    case DType::kI16:
      return body(std::int16_t{});
    case DType::kI32:
      return body(std::int32_t{});
    case DType::kI64:
      return body(std::int64_t{});
    case DType::kBool:
      return body(bool{});
    case DType::kF32:
      break;
  }
  return body(float{});
}

}  // namespace weft
