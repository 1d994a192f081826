// Bytes as libraries in C take them.
//
// Threads: pure functions.
#pragma once

#include <cstddef>

namespace weft::tcp {

inline unsigned char* raw(std::byte* bytes) {
  return reinterpret_cast<unsigned char*>(bytes);
}
inline const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace weft::tcp
