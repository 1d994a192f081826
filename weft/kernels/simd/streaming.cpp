#include "weft/kernels/simd/streaming.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/simd/streaming.cpp"
#include <algorithm>
#include <cstring>
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include <limits>

#include "weft/base/cpu.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kLine = 64;

void stream(const std::byte* from, std::byte* to, std::size_t bytes) noexcept {
  const hn::CappedTag<std::uint8_t, kLine> d;
  const std::size_t head = std::min(
      bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
  std::memcpy(to, from, head);
  const std::size_t end = head + (bytes - head) / kLine * kLine;
  // A line that is not written as a whole at once would be read nevertheless.
  for (std::size_t line = head; line < end; line += kLine) {
    for (std::size_t i = line; i < line + kLine; i += hn::Lanes(d)) {
      const auto part =
          hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(from + i));
      hn::Stream(part, d, reinterpret_cast<std::uint8_t*>(to + i));
    }
  }
  std::memcpy(to + end, from + end, bytes - end);
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

std::uint64_t least_streamed_bytes() {
  static const std::uint64_t cache = last_level_cache_bytes();
  // Where a machine does not say how large its caches are, nothing is known to
  // outgrow them.
  return cache == 0 ? std::numeric_limits<std::uint64_t>::max() : 2 * cache;
}

void stream_bytes(const void* from, void* to, std::size_t bytes) noexcept {
  WEFT_FOR_MACHINE(stream)
  (static_cast<const std::byte*>(from), static_cast<std::byte*>(to), bytes);
}

void finish_streaming() noexcept { hwy::FlushStream(); }

}  // namespace weft
#endif
