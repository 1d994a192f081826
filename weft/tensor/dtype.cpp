#include "weft/tensor/dtype.h"

#include <array>
#include <utility>

namespace weft {
namespace {

constexpr std::array<std::pair<DType, std::string_view>, 10> kNames{{
    {DType::kF32, "f32"},
    {DType::kF64, "f64"},
    {DType::kF16, "f16"},
    {DType::kBF16, "bf16"},
    {DType::kI8, "i8"},
    {DType::kU8, "u8"},
    {DType::kI16, "i16"},
    {DType::kI32, "i32"},
    {DType::kI64, "i64"},
    {DType::kBool, "bool"},
}};

}  // namespace

std::string_view to_string(DType dtype) {
  for (const auto& [value, name] : kNames) {
    if (value == dtype) return name;
  }
  return "?";
}

std::optional<DType> dtype_from_string(std::string_view name) {
  for (const auto& [value, text] : kNames) {
    if (text == name) return value;
  }
  return std::nullopt;
}

float16::float16(float value) {
  const auto word = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((word >> 16) & 0x8000u);
  const std::uint32_t magnitude = word & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {  // NaN
    bits = static_cast<std::uint16_t>(sign | 0x7e00u);
  } else if (magnitude >= 0x477ff000u) {  // rounds to 2^16 or above
    bits = static_cast<std::uint16_t>(sign | 0x7c00u);
  } else if (magnitude < 0x38800000u) {  // subnormal in binary16, or zero
    // Adding 0.5 aligns the value so that f32's own rounding does the work.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    bits = static_cast<std::uint16_t>(
        sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  } else {
    // The exponent's bias goes from 127 to 15, and 13 bits are rounded away:
    // half of the last place less one, and one more where that place is odd,
    // rounds ties to even.
    const std::uint32_t odd = (magnitude >> 13) & 1u;
    bits = static_cast<std::uint16_t>(
        sign | ((magnitude - 0x38000000u + 0xfffu + odd) >> 13));
  }
}

float16::operator float() const {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1fu;
  const std::uint32_t fraction = bits & 0x3ffu;
  if (exponent == 0) {
    // Subnormal numbers count in units of 2^-24, which f32 holds exactly.
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
  }
  // The largest exponent means infinity or NaN in both; all others change their
  // bias from 15 to 127.
  const std::uint32_t wide = exponent == 31 ? 0xffu : exponent + 112u;
  return std::bit_cast<float>(sign | (wide << 23) | (fraction << 13));
}

}  // namespace weft
