// The binary version of CIFAR-10: records of 3,073 bytes, a label and then
// 1,024 red, 1,024 green and 1,024 blue bytes, row-major.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/base/file.h"

namespace weft {

inline constexpr std::size_t kCifarSide = 32;
inline constexpr std::size_t kCifarPlane = kCifarSide * kCifarSide;
inline constexpr std::size_t kCifarRecord = 1 + 3 * kCifarPlane;
inline constexpr int kCifarClasses = 10;

// How many records a file holds. Throws Error(kDataLoss) naming `where` and
// the byte, unless it is a whole number of them with labels 0 … 9.
std::int64_t check_cifar(ByteSpan bytes, std::string_view where);

// The pixels of a record, channels last: 32 × 32 × 3 bytes.
void copy_cifar_image(const std::uint8_t* record, std::uint8_t* image);

}  // namespace weft
