// Mean and sum of squared distances of each channel, the last axis of rows that
// lie end to end. Rows are cut into chunks that fit the L2 cache; each chunk's
// numbers are taken while it is there, so memory is read once, and the chunks
// are combined in order (Chan, Golub and LeVeque, 1979). Chunks depend on the
// shape alone: any number of threads gives the same bits.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_CHANNEL_MOMENTS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_CHANNEL_MOMENTS_H_
#undef WEFT_KERNELS_CPU_CHANNEL_MOMENTS_H_
#else
#define WEFT_KERNELS_CPU_CHANNEL_MOMENTS_H_
#endif

#include <algorithm>
#include <numeric>

#include "weft/kernels/simd/lanes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

// Some elements of a channel: how many, their mean and Σ (x - mean)^2; and of
// the gradient dy beside them, Σ dy and Σ dy (x - mean).
struct ChannelGroup {
  double count, mean, squares, slope, product;
};

// With kHasSlopes it reads dy, too; without, that is null.
template <class T, bool kHasSlopes>
class ChannelMoments {
 public:
  using A = simd::Computed<T>;
  using V = simd::ComputedVector<T>;

  ChannelMoments(std::size_t channels, std::size_t rows)
      : channels_(channels), rows_(rows) {
    // Several rows side by side count as one of more channels, so that few
    // channels fill vectors too, and enough of them to hide latency.
    fold_ = kLanes / std::gcd(kLanes, channels_);
    while (fold_ * channels_ < kBlock * kLanes) fold_ *= 2;
    width_ = fold_ * channels_;
    folded_rows_ = rows_ / fold_;
    chunk_rows_ = std::max<std::size_t>(1, kChunkBytes / sizeof(T) / width_);
    chunks_ = (folded_rows_ + chunk_rows_ - 1) / chunk_rows_;
  }

  std::size_t chunks() const { return chunks_; }
  std::size_t channels() const { return channels_; }
  std::size_t rows() const { return rows_; }
  // The channels of the rows that lie side by side.
  std::size_t width() const { return width_; }
  std::size_t chunk_elements() const { return chunk_rows_ * width_; }
  // The numbers that measure() keeps of all chunks.
  std::size_t kept() const { return chunks_ * kKinds * width_; }

  void measure(const T* x, const T* dy, std::size_t chunk, A* kept) const {
    const std::size_t first = chunk * chunk_elements();
    A* numbers = kept + chunk * kKinds * width_;
    std::size_t c = 0;
    for (; c + kBlock * kLanes <= width_; c += kBlock * kLanes) {
      measure_block<kBlock>(x, dy, first + c, rows_of(chunk), numbers + c);
    }
    // The width is a multiple of the lanes, by the choice of the fold.
    for (; c < width_; c += kLanes) {
      measure_block<1>(x, dy, first + c, rows_of(chunk), numbers + c);
    }
  }

  // Calls body(ChannelGroup) for each group of channel c: the chunks' folds,
  // then each row that was left over.
  template <class Body>
  void for_each_group(const T* x, const T* dy, const A* kept, std::size_t c,
                      Body&& body) const {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const A* numbers = kept + chunk * kKinds * width_;
      const auto count = static_cast<double>(rows_of(chunk));
      for (std::size_t i = c; i < width_; i += channels_) {
        ChannelGroup group{count, numbers[i], numbers[width_ + i], 0, 0};
        if constexpr (kHasSlopes) {
          group.slope = numbers[2 * width_ + i];
          group.product = numbers[3 * width_ + i];
        }
        body(group);
      }
    }
    for (std::size_t row = folded_rows_ * fold_; row < rows_; ++row) {
      // A row by itself is a group of one, with no distance from its own mean.
      const std::size_t i = row * channels_ + c;
      ChannelGroup group{1, static_cast<double>(static_cast<A>(x[i])), 0, 0, 0};
      if constexpr (kHasSlopes) {
        group.slope = static_cast<double>(static_cast<A>(dy[i]));
      }
      body(group);
    }
  }

 private:
  static constexpr std::size_t kLanes = simd::kLanesOf<T>;
  static constexpr std::size_t kBlock = 4;  // vectors held in registers
  static constexpr std::size_t kKinds = kHasSlopes ? 4 : 2;
  // A chunk is read twice, the second time from the cache.
  static constexpr std::size_t kChunkBytes = 64 << 10;

  std::size_t rows_of(std::size_t chunk) const {
    return std::min(chunk_rows_, folded_rows_ - chunk * chunk_rows_);
  }

  template <std::size_t kVectors>
  void measure_block(const T* x, const T* dy, std::size_t first,
                     std::size_t rows, A* numbers) const {
    namespace hn = simd::hn;
    const V zero = hn::Zero(simd::ComputedTag<T>());
    V mean[kVectors], squares[kVectors], slopes[kVectors], products[kVectors];
    for (std::size_t i = 0; i < kVectors; ++i) {
      mean[i] = squares[i] = slopes[i] = products[i] = zero;
    }
    const auto for_each_vector = [&](auto&& body) {
      for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t i = 0; i < kVectors; ++i) {
          body(i, first + row * width_ + i * kLanes);
        }
      }
    };
    for_each_vector([&](std::size_t i, std::size_t at) {
      mean[i] = hn::Add(mean[i], simd::load(x + at));
    });
    const V share =
        hn::Set(simd::ComputedTag<T>(), A{1} / static_cast<A>(rows));
    for (V& v : mean) v = hn::Mul(v, share);
    for_each_vector([&](std::size_t i, std::size_t at) {
      const V distance = hn::Sub(simd::load(x + at), mean[i]);
      squares[i] = hn::MulAdd(distance, distance, squares[i]);
      if constexpr (kHasSlopes) {
        const V slope = simd::load(dy + at);
        slopes[i] = hn::Add(slopes[i], slope);
        products[i] = hn::MulAdd(slope, distance, products[i]);
      }
    });
    for (std::size_t i = 0; i < kVectors; ++i) {
      A* to = numbers + i * kLanes;
      simd::store(mean[i], to);
      simd::store(squares[i], to + width_);
      if constexpr (kHasSlopes) {
        simd::store(slopes[i], to + 2 * width_);
        simd::store(products[i], to + 3 * width_);
      }
    }
  }

  std::size_t channels_, rows_;
  std::size_t fold_ = 1;         // rows side by side
  std::size_t width_ = 0;        // channels of such a row
  std::size_t folded_rows_ = 0;  // how many of them
  std::size_t chunk_rows_ = 1;
  std::size_t chunks_ = 0;
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
