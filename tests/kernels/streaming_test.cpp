#include "weft/kernels/simd/streaming.h"

#include <array>
#include <cstdlib>
#include <gtest/gtest.h>
#include <numeric>
#include <vector>

#include "weft/kernels/simd/strided_copy.h"

namespace weft::streaming_test {
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

TEST(Streaming, MakesEachResultOnce) {
  constexpr std::int64_t kSize = 3000;  // more than a tile, and no whole tiles
  for (const bool streams : {true, false}) {
    std::vector<std::int32_t> y(kSize + 1, -1);
    make_results(reinterpret_cast<std::byte*>(y.data()), kSize, 4, streams,
                 [](std::int64_t first, std::int64_t count, std::byte* to) {
                   auto* results = reinterpret_cast<std::int32_t*>(to);
                   std::iota(results, results + count,
                             static_cast<std::int32_t>(first));
                 });
    for (std::int32_t i = 0; i < kSize; ++i) {
      ASSERT_EQ(y[static_cast<std::size_t>(i)], i);
    }
    EXPECT_EQ(y.back(), -1);
  }
}

// Parts of rows, of any place in a line, and a long run, which is cut.
TEST(Streaming, CopiesRunsPastTheCaches) {
  struct Copy {
    Dim rows, columns, part;
  };
  for (const Copy& c : {Copy{7, 401, 201}, Copy{5, 128, 128},
                        Copy{1, 40000, 40000}, Copy{3, 39999, 39998}}) {
    std::vector<std::int32_t> from(
        static_cast<std::size_t>(c.rows * c.columns));
    std::iota(from.begin(), from.end(), 1);
    std::vector<std::int32_t> to(from.size(), 0);
    const Strides strides{c.columns, 1};
    const StridedCopy copy(4, {c.rows, c.part}, strides, strides, 0);
    copy.run(from.data(), to.data());
    for (Dim i = 0; i < c.rows * c.columns; ++i) {
      const auto n = static_cast<std::size_t>(i);
      ASSERT_EQ(to[n], i % c.columns < c.part ? from[n] : 0) << i;
    }
  }
}

// Runs that go down, or leave elements out: shorter than a tile, longer, and
// cut for several threads.
TEST(Streaming, CopiesStepsPastTheCaches) {
  for (const Dim step : {-1, 2, 3, 4}) {
    for (const Dim size : {130, 1024, 1500, 40000}) {
      constexpr Dim kRows = 3;
      const Dim columns = std::abs(step) * size;
      std::vector<std::int32_t> from(static_cast<std::size_t>(kRows * columns));
      std::iota(from.begin(), from.end(), 1);
      std::vector<std::int32_t> to(static_cast<std::size_t>(kRows * size), 0);
      const StridedCopy copy(4, {kRows, size}, Strides{columns, step},
                             Strides{size, 1}, 0);
      const Dim first = step < 0 ? columns - 1 : 0;
      copy.run(from.data() + first, to.data());
      for (Dim i = 0; i < kRows * size; ++i) {
        const Dim source = i / size * columns + first + i % size * step;
        ASSERT_EQ(to[static_cast<std::size_t>(i)], source + 1)
            << step << ", " << size << ": " << i;
      }
    }
  }
}

}  // namespace
}  // namespace weft::streaming_test
