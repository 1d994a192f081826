// Keeps what different threads write on different cache lines.
#pragma once

#include <cstddef>

namespace weft::concurrent {

// 128 and not 64: Intel's prefetcher fetches lines in pairs.
inline constexpr std::size_t kCacheLine = 128;

template <class T>
struct alignas(kCacheLine) CacheAligned {
  T value{};

  T& operator*() { return value; }
  const T& operator*() const { return value; }
  T* operator->() { return &value; }
  const T* operator->() const { return &value; }
};

}  // namespace weft::concurrent
