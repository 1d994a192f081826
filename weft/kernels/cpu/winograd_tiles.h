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
#include <fmt/format.h>
#include <string>

#include "weft/base/index.h"
#include "weft/kernels/simd/winograd.h"
#include "weft/tensor/shape.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// A window, the points that stand for it, and the results of a tile.
template <std::size_t kWindowRows, std::size_t kWindowColumns>
struct WinogradWindow {
  static constexpr std::size_t kRows = kWindowRows;
  static constexpr std::size_t kColumns = kWindowColumns;
  static constexpr std::size_t kTaps = kRows * kColumns;
  static constexpr std::size_t kPointRows = simd::kWinogradPoints<kRows>;
  static constexpr std::size_t kPointColumns = simd::kWinogradPoints<kColumns>;
  static constexpr std::size_t kPoints = kPointRows * kPointColumns;
  static constexpr std::size_t kResultRows = simd::kWinogradResults<kRows>;
  static constexpr std::size_t kResultColumns =
      simd::kWinogradResults<kColumns>;
  static constexpr std::size_t kResults = kResultRows * kResultColumns;

  // Pixels of the image under a tile, and its results, as numbers of pixels; -1
  // is outside.
  using Pixels = std::array<std::int64_t, kPoints>;
  using Results = std::array<std::int64_t, kResults>;

  // The pixel that result r of a tile meets by a tap.
  static std::size_t pixel_of(std::size_t r, std::size_t tap) {
    return (r / kResultColumns + tap / kColumns) * kPointColumns +
           r % kResultColumns + tap % kColumns;
  }
  // What that is in the literature: F(4 x 4, 3 x 3).
  static std::string name() {
    return fmt::format("F({} x {}, {} x {})", kResultRows, kResultColumns,
                       kRows, kColumns);
  }
};

// A line more between points keeps them off the same sets of a cache.
inline constexpr std::size_t kWinogradApart = 16;
// A thread is worth waking for so many flops.
inline constexpr double kWinogradThreadFlops = 300e3;

inline std::size_t up_to_lanes(std::size_t count) {
  return (count + simd::kLanes - 1) / simd::kLanes * simd::kLanes;
}

// make.template operator()<Window>() for the window of weights (HWIO) that
// winograd_declines() takes.
template <class Make>
auto for_winograd_window(const Shape& weights, Make&& make) {
  const auto is = [&](std::int64_t rows, std::int64_t columns) {
    return weights[0] == rows && weights[1] == columns;
  };
  if (is(1, 3)) return make.template operator()<WinogradWindow<1, 3>>();
  if (is(3, 1)) return make.template operator()<WinogradWindow<3, 1>>();
  if (is(1, 5)) return make.template operator()<WinogradWindow<1, 5>>();
  if (is(5, 1)) return make.template operator()<WinogradWindow<5, 1>>();
  if (is(5, 5)) return make.template operator()<WinogradWindow<5, 5>>();
  return make.template operator()<WinogradWindow<3, 3>>();
}

// Result (r, c) sees the pixels from (r - top, c - left) on.
template <class Window>
class WinogradTiles {
 public:
  WinogradTiles(const Shape& x, const Shape& y, std::int64_t top,
                std::int64_t left)
      : image_{x[1], x[2]},
        result_{y[1], y[2]},
        top_(top),
        left_(left),
        rows_((y[1] + kSideRows - 1) / kSideRows),
        columns_((y[2] + kSideColumns - 1) / kSideColumns),
        count_(at(y[0] * rows_ * columns_)) {}

  std::size_t count() const { return count_; }

  typename Window::Pixels pixels(std::size_t index) const {
    const Place place = this->place(index);
    typename Window::Pixels pixels;
    number<Window::kPointRows, Window::kPointColumns>(
        image_, place.image, place.row - top_, place.column - left_,
        pixels.data());
    return pixels;
  }
  typename Window::Results results(std::size_t index) const {
    const Place place = this->place(index);
    typename Window::Results results;
    number<kSideRows, kSideColumns>(result_, place.image, place.row,
                                    place.column, results.data());
    return results;
  }

 private:
  static constexpr std::int64_t kSideRows = Window::kResultRows;
  static constexpr std::int64_t kSideColumns = Window::kResultColumns;
  struct Size {
    std::int64_t rows, columns;
  };
  // The image of a tile, and where its first result is.
  struct Place {
    std::int64_t image, row, column;
  };

  Place place(std::size_t index) const {
    const auto tile = static_cast<std::int64_t>(index);
    const std::int64_t line = tile / columns_;
    return {line / rows_, line % rows_ * kSideRows,
            tile % columns_ * kSideColumns};
  }

  // The pixels of a rectangle whose first one is (row, column).
  template <std::int64_t kRows, std::int64_t kColumns>
  static void number(const Size& of, std::int64_t image, std::int64_t row,
                     std::int64_t column, std::int64_t* to) {
    for (std::int64_t i = 0; i < kRows; ++i) {
      const std::int64_t r = row + i;
      const bool has_row = r >= 0 && r < of.rows;
      const std::int64_t first = (image * of.rows + r) * of.columns + column;
      for (std::int64_t j = 0; j < kColumns; ++j) {
        const bool has_pixel =
            has_row && column + j >= 0 && column + j < of.columns;
        *to++ = has_pixel ? first + j : -1;
      }
    }
  }

  Size image_, result_;
  std::int64_t top_, left_;
  std::int64_t rows_, columns_;  // of tiles
  std::size_t count_;
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

// Some channels of a rectangle of pixels of `x`, whose pixels are `channels`
// wide, at all points: `to` + p * step + channel. Pixels outside are 0, as is
// `zeros`, so many channels of it.
template <class OfRows, class OfColumns>
void winograd_at_points(const float* x, const std::int64_t* pixels,
                        std::size_t channels, std::size_t count,
                        const float* zeros, float* to, std::size_t step) {
  std::array<const float*, OfRows::kFrom * OfColumns::kFrom> from;
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = pixels[i] < 0 ? zeros : x + at(pixels[i]) * channels;
  }
  for_each_channel_vector(count, [&](std::size_t c, auto lanes) HWY_ATTR {
    simd::winograd_both_ways<OfRows, OfColumns>(
        [&](std::size_t i, std::size_t j)
            HWY_ATTR { return lanes.load(from[i * OfColumns::kFrom + j] + c); },
        [&](std::size_t i, std::size_t j, simd::Vector v) HWY_ATTR {
          lanes.store(v, to + (i * OfColumns::kTo + j) * step + c);
        });
  });
}

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
