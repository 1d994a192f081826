// Mean and variance per channel. Rows are cut into chunks that fit the L2
// cache; each chunk's mean and sum of squared distances are taken while it is
// there, so memory is read once, and the chunks are combined in order (Chan,
// Golub and LeVeque, 1979). Chunks depend on the shape alone: any number of
// threads gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/norm.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>
#include <numeric>
#include <optional>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/f32_or_bf16.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using simd::kLanes;
using simd::Vector;

template <class T>
class Moments : public PreparedKernel {
 public:
  explicit Moments(const OpCall& call)
      : channels_(static_cast<std::size_t>(call.input(0).shape.back())),
        rows_(static_cast<std::size_t>(call.input(0).shape.num_elements()) /
              channels_) {
    // Several rows side by side count as one of more channels, so that few
    // channels fill vectors too, and enough of them to hide latency.
    fold_ = kLanes / std::gcd(kLanes, channels_);
    while (fold_ * channels_ < kBlock * kLanes) fold_ *= 2;
    width_ = fold_ * channels_;
    folded_rows_ = rows_ / fold_;
    chunk_rows_ = std::max<std::size_t>(1, kChunkBytes / sizeof(T) / width_);
    chunks_ = (folded_rows_ + chunk_rows_ - 1) / chunk_rows_;
  }

  // Each chunk has its means there, then its sums of squared distances.
  std::size_t scratch_bytes() const override {
    return chunks_ * 2 * width_ * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    auto* scratch = static_cast<float*>(buffers.scratch);
    parallel_for(static_cast<std::int64_t>(chunks_), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto i = begin; i < end; ++i) {
                     measure(x, static_cast<std::size_t>(i), scratch);
                   }
                 });
    auto* mean = static_cast<float*>(buffers.outputs[0]);
    auto* variance = static_cast<float*>(buffers.outputs[1]);
    for (std::size_t c = 0; c < channels_; ++c) {
      combine(x, scratch, c, mean[c], variance[c]);
    }
  }

 private:
  static constexpr std::size_t kBlock = 4;  // vectors held in registers
  // A chunk is read twice, the second time from the cache.
  static constexpr std::size_t kChunkBytes = 64 << 10;

  std::size_t rows_of(std::size_t chunk) const {
    return std::min(chunk_rows_, folded_rows_ - chunk * chunk_rows_);
  }

  void measure(const T* x, std::size_t chunk, float* scratch) const {
    const T* first = x + chunk * chunk_rows_ * width_;
    float* mean = scratch + chunk * 2 * width_;
    float* squares = mean + width_;
    std::size_t c = 0;
    for (; c + kBlock * kLanes <= width_; c += kBlock * kLanes) {
      measure_block<kBlock>(first + c, rows_of(chunk), mean + c, squares + c);
    }
    // The width is a multiple of the lanes, by the choice of the fold.
    for (; c < width_; c += kLanes) {
      measure_block<1>(first + c, rows_of(chunk), mean + c, squares + c);
    }
  }

  template <std::size_t kVectors>
  void measure_block(const T* first, std::size_t rows, float* mean_out,
                     float* squares_out) const {
    Vector total[kVectors];
    Vector mean[kVectors];
    for (auto& v : total) v = simd::broadcast(0.f);
    for (std::size_t row = 0; row < rows; ++row) {
      const T* x = first + row * width_;
      for (std::size_t i = 0; i < kVectors; ++i) {
        total[i] = simd::hn::Add(total[i], simd::load(x + i * kLanes));
      }
    }
    const Vector share = simd::broadcast(1.f / static_cast<float>(rows));
    for (std::size_t i = 0; i < kVectors; ++i) {
      mean[i] = simd::hn::Mul(total[i], share);
      simd::store(mean[i], mean_out + i * kLanes);
      total[i] = simd::broadcast(0.f);
    }
    for (std::size_t row = 0; row < rows; ++row) {
      const T* x = first + row * width_;
      for (std::size_t i = 0; i < kVectors; ++i) {
        const Vector distance =
            simd::hn::Sub(simd::load(x + i * kLanes), mean[i]);
        total[i] = simd::hn::MulAdd(distance, distance, total[i]);
      }
    }
    for (std::size_t i = 0; i < kVectors; ++i) {
      simd::store(total[i], squares_out + i * kLanes);
    }
  }

  // Calls body(count, mean, sum of squares) for each group of channel c: the
  // chunks' folds, then each row that was left over.
  template <class Body>
  void for_each_group(const T* x, const float* scratch, std::size_t c,
                      Body&& body) const {
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const float* mean = scratch + chunk * 2 * width_;
      const auto count = static_cast<double>(rows_of(chunk));
      for (std::size_t i = c; i < width_; i += channels_) {
        body(count, static_cast<double>(mean[i]),
             static_cast<double>(mean[width_ + i]));
      }
    }
    for (std::size_t row = folded_rows_ * fold_; row < rows_; ++row) {
      // A row by itself is a group of one, with no distance from its own mean.
      body(1.0, static_cast<double>(static_cast<float>(x[row * channels_ + c])),
           0.0);
    }
  }

  void combine(const T* x, const float* scratch, std::size_t c, float& mean,
               float& variance) const {
    // There are few groups, so that combining them in double costs little and
    // loses nothing.
    double sum = 0;
    for_each_group(x, scratch, c, [&](double count, double own, double) {
      sum += count * own;
    });
    const double centre = sum / static_cast<double>(rows_);
    double squares = 0;
    for_each_group(x, scratch, c, [&](double count, double own, double m2) {
      // The squares about the common centre are those about the group's own,
      // and the distance of the two for each of its elements.
      squares += m2 + count * (own - centre) * (own - centre);
    });
    mean = static_cast<float>(centre);
    variance = static_cast<float>(squares / static_cast<double>(rows_));
  }

  std::size_t channels_, rows_;
  std::size_t fold_ = 1;         // rows side by side
  std::size_t width_ = 0;        // channels of such a row
  std::size_t folded_rows_ = 0;  // how many of them
  std::size_t chunk_rows_ = 1;
  std::size_t chunks_ = 0;
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "moments",
       .name = "simd:moments",
       .rank = 10,
       .declines = declines_f32_or_bf16,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         if (call.input(0).dtype == DType::kBF16) {
           return std::make_unique<Moments<bfloat16>>(call);
         }
         return std::make_unique<Moments<float>>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_norm(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
