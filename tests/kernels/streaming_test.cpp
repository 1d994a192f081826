#include "weft/kernels/simd/streaming.h"

#include <array>
#include <gtest/gtest.h>
#include <numeric>

namespace weft {
namespace {

// Every place within a line of the cache, and lengths up to three lines.
TEST(Streaming, CopiesWhatIsAskedForAndNoMore) {
  constexpr std::size_t kMost = 192;
  std::array<unsigned char, kMost> from;
  std::iota(from.begin(), from.end(), static_cast<unsigned char>(1));
  for (std::size_t offset = 0; offset < 64; ++offset) {
    for (std::size_t bytes = 0; bytes <= kMost; bytes += 1 + bytes / 16) {
      alignas(64) std::array<unsigned char, kMost + 128> to{};
      stream_bytes(from.data(), to.data() + offset, bytes);
      finish_streaming();
      for (std::size_t i = 0; i < to.size(); ++i) {
        const bool is_inside = i >= offset && i < offset + bytes;
        ASSERT_EQ(to[i], is_inside ? from[i - offset] : 0)
            << bytes << " bytes to " << offset << ", byte " << i;
      }
    }
  }
}

}  // namespace
}  // namespace weft
