// The tiles of a convolution by Winograd's filtering (kernels/simd/winograd.h):
// where they lie in an image and in the results, and what is under them at all
// points. Images are NHWC; vectors are channels beside each other.
//
// Threads: pure functions of what they are given.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_WINOGRAD_TILES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_WINOGRAD_TILES_H_
#undef WEFT_KERNELS_CPU_WINOGRAD_TILES_H_
#else
#define WEFT_KERNELS_CPU_WINOGRAD_TILES_H_
#endif

#include <array>

#include "weft/base/index.h"
#include "weft/kernels/simd/winograd.h"
#include "weft/tensor/shape.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

inline constexpr std::size_t kWinogradSquare =
    simd::kWinogradPoints * simd::kWinogradPoints;
inline constexpr std::size_t kWinogradTile =
    simd::kWinogradResults * simd::kWinogradResults;
inline constexpr std::size_t kWinogradTaps =
    simd::kWinogradWindow * simd::kWinogradWindow;
// A line more between points keeps them off the same sets of a cache.
inline constexpr std::size_t kWinogradApart = 16;
// A thread is worth waking for so many flops.
inline constexpr double kWinogradThreadFlops = 300e3;

inline std::size_t up_to_lanes(std::size_t count) {
  return (count + simd::kLanes - 1) / simd::kLanes * simd::kLanes;
}

// Pixels of the image under a tile, and its results, as numbers of pixels; -1
// is outside.
struct WinogradTile {
  std::array<std::int64_t, kWinogradSquare> pixels;
  std::array<std::int64_t, kWinogradTile> results;
};

// The pixel that result r of a tile meets by a tap.
inline std::size_t pixel_of(std::size_t r, std::size_t tap) {
  constexpr std::size_t kSide = simd::kWinogradResults;
  constexpr std::size_t kWindow = simd::kWinogradWindow;
  return (r / kSide + tap / kWindow) * simd::kWinogradPoints + r % kSide +
         tap % kWindow;
}

// Result (r, c) sees the pixels from (r - top, c - left) on.
class WinogradTiles {
 public:
  WinogradTiles(const Shape& x, const Shape& y, std::int64_t top,
                std::int64_t left)
      : x_(x), y_(y), top_(top), left_(left) {}

  std::size_t count() const { return at(y_[0]) * rows() * columns(); }

  WinogradTile operator[](std::size_t index) const {
    constexpr std::int64_t kSide = simd::kWinogradResults;
    const auto image = static_cast<std::int64_t>(index / (rows() * columns()));
    const auto row =
        static_cast<std::int64_t>(index / columns() % rows()) * kSide;
    const auto column = static_cast<std::int64_t>(index % columns()) * kSide;
    WinogradTile tile;
    number(x_, image, row - top_, column - left_, simd::kWinogradPoints,
           tile.pixels.data());
    number(y_, image, row, column, kSide, tile.results.data());
    return tile;
  }

 private:
  // The pixels of a square of `side` whose first one is (row, column).
  static void number(const Shape& of, std::int64_t image, std::int64_t row,
                     std::int64_t column, std::int64_t side, std::int64_t* to) {
    for (std::int64_t r = row; r < row + side; ++r) {
      for (std::int64_t c = column; c < column + side; ++c) {
        const bool is_inside = r >= 0 && r < of[1] && c >= 0 && c < of[2];
        *to++ = is_inside ? (image * of[1] + r) * of[2] + c : -1;
      }
    }
  }

  std::size_t rows() const { return tiles_of(y_[1]); }
  std::size_t columns() const { return tiles_of(y_[2]); }
  static std::size_t tiles_of(std::int64_t side) {
    return (at(side) + simd::kWinogradResults - 1) / simd::kWinogradResults;
  }

  Shape x_, y_;
  std::int64_t top_, left_;
};

// Calls body(i, lanes) for all vectors of `count` channels.
template <class Body>
HWY_INLINE void for_each_channel_vector(std::size_t count, Body&& body) {
  std::size_t i = 0;
  for (; i + simd::kLanes <= count; i += simd::kLanes) {
    body(i, simd::AllLanes<float>());
  }
  if (i < count) body(i, simd::SomeLanes<float>{count - i});
}

// Some channels of a square of kFrom x kFrom pixels of `x`, whose pixels are
// `channels` wide, at all points: `to` + p * step + channel. Pixels outside are
// 0, as is `zeros`, so many channels of it.
template <std::size_t kFrom, auto kTransform>
void winograd_at_points(const float* x, const std::int64_t* pixels,
                        std::size_t channels, std::size_t count,
                        const float* zeros, float* to, std::size_t step) {
  std::array<const float*, kFrom * kFrom> from;
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = pixels[i] < 0 ? zeros : x + at(pixels[i]) * channels;
  }
  for_each_channel_vector(count, [&](std::size_t c, auto lanes) HWY_ATTR {
    simd::winograd_square<kFrom, simd::kWinogradPoints>(
        kTransform,
        [&](std::size_t i, std::size_t j)
            HWY_ATTR { return lanes.load(from[i * kFrom + j] + c); },
        [&](std::size_t i, std::size_t j, simd::Vector v) HWY_ATTR {
          lanes.store(v, to + (i * simd::kWinogradPoints + j) * step + c);
        });
  });
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
