// Attention of a few queries, as when a text is written word by word: all is
// reading keys and values, so threads share out the keys as well as batches and
// heads (Dao, Haziza, Massa and Sizov, "Flash-Decoding", 2023). The cut depends
// on shapes alone and its parts are combined in order, so the bits do not
// depend on the threads.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/attention_few_queries.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/base/error.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/attention_tiles.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using attention::kHidden;
using simd::broadcast;
using simd::kLanes;
using simd::Vector;
namespace hn = simd::hn;

// Above, a tile of scores with its queries side by side takes less.
constexpr Dim kMostQueries = 2;
constexpr std::size_t kChunk = 256;  // keys of a task

// x · y, in four chains.
template <class T>
float dot(const T* x, const T* y, std::size_t width) {
  // Each multiply-add waits for the one before it in its chain; four chains
  // keep the machine busy meanwhile.
  Vector sums[4] = {broadcast(0.f), broadcast(0.f), broadcast(0.f),
                    broadcast(0.f)};
  std::size_t i = 0;
  for (; i + 4 * kLanes <= width; i += 4 * kLanes) {
    for (std::size_t n = 0; n < 4; ++n) {
      const std::size_t at = i + n * kLanes;
      sums[n] = hn::MulAdd(simd::load(x + at), simd::load(y + at), sums[n]);
    }
  }
  for (; i + kLanes <= width; i += kLanes) {
    sums[0] = hn::MulAdd(simd::load(x + i), simd::load(y + i), sums[0]);
  }
  if (i < width) {
    // Lanes that are missing are 0 on both sides, and add nothing.
    const auto left = simd::load_part(x + i, width - i, 0.f);
    sums[1] = hn::MulAdd(left, simd::load_part(y + i, width - i, 0.f), sums[1]);
  }
  return simd::sum_lanes(
      hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3])));
}

// y = Σ weights[j] rows[j], of `width` elements each, in registers.
template <class T>
void weighted_sum(const float* weights, const T* rows, std::size_t count,
                  std::size_t width, float* y) {
  constexpr std::size_t kVectors = 4;
  std::size_t i = 0;
  for (; i + kVectors * kLanes <= width; i += kVectors * kLanes) {
    // The sums stay in registers while all rows pass by, so that y is written
    // once.
    Vector sums[kVectors] = {broadcast(0.f), broadcast(0.f), broadcast(0.f),
                             broadcast(0.f)};
    for (std::size_t j = 0; j < count; ++j) {
      const Vector weight = broadcast(weights[j]);
      const T* row = rows + j * width + i;
      for (std::size_t n = 0; n < kVectors; ++n) {
        sums[n] = hn::MulAdd(weight, simd::load(row + n * kLanes), sums[n]);
      }
    }
    for (std::size_t n = 0; n < kVectors; ++n) {
      simd::store(sums[n], y + i + n * kLanes);
    }
  }
  for (; i < width; ++i) {
    y[i] = 0;
    for (std::size_t j = 0; j < count; ++j) {
      y[i] += weights[j] * static_cast<float>(rows[j * width + i]);
    }
  }
}

template <class T>
class FewQueries : public PreparedKernel {
 public:
  explicit FewQueries(const OpCall& call)
      : sizes_(call, kMaskOfAttention),
        queries_(at(sizes_.queries)),
        keys_(at(sizes_.keys)),
        width_(at(sizes_.width)),
        value_width_(at(sizes_.value_width)),
        chunks_((keys_ + kChunk - 1) / kChunk),
        has_mask_(call.has_input(kMaskOfAttention)) {}

  std::size_t scratch_bytes() const override {
    return at(sizes_.stacks) * chunks_ * part_size() * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const auto tasks = sizes_.stacks * static_cast<std::int64_t>(chunks_);
    const auto work = static_cast<std::int64_t>(
        std::min(kChunk, keys_) * queries_ * (width_ + value_width_));
    parallel_for(tasks, 1 + kWorkPerThread / work,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto task = at(begin); task < at(end); ++task) {
                     attend(buffers, task / chunks_, task % chunks_);
                   }
                 });
    // Combining reads one row of sums for each chunk of keys, which is too
    // little to share out.
    for (std::size_t stack = 0; stack < at(sizes_.stacks); ++stack) {
      for (std::size_t i = 0; i < queries_; ++i) combine(buffers, stack, i);
    }
  }

 private:
  static constexpr std::int64_t kWorkPerThread = 128 << 10;

  // For each query its part's y, largest and total.
  std::size_t part_size() const { return queries_ * (value_width_ + 2); }
  float* place(const KernelBuffers& buffers, std::size_t stack,
               std::size_t chunk, std::size_t query) const {
    return static_cast<float*>(buffers.scratch) +
           (stack * chunks_ + chunk) * part_size() + query * (value_width_ + 2);
  }

  void attend(const KernelBuffers& buffers, std::size_t stack,
              std::size_t chunk) const noexcept {
    const std::size_t first = chunk * kChunk;
    const std::size_t count = std::min(kChunk, keys_ - first);
    WEFT_CHECK(count > 0);
    for (std::size_t i = 0; i < queries_; ++i) {
      alignas(64) float weights[kChunk];
      float* y = place(buffers, stack, chunk, i);
      score(buffers, stack, i, first, count, weights);
      float& largest = y[value_width_];
      float& total = y[value_width_ + 1];
      largest = *std::max_element(weights, weights + count);
      // Where no key of the chunk is looked at, -∞ - -∞ would be NaN.
      const float shift = largest == kHidden ? 0 : largest;
      simd::map(weights, weights, count, [&](Vector x) {
        return simd::exp(hn::Sub(x, broadcast(shift)));
      });
      total = simd::sum_lanes(simd::reduce(
          weights, count, 0.f, 0.f,
          [](Vector sum, Vector x) { return hn::Add(sum, x); },
          [](Vector a, Vector b) { return hn::Add(a, b); }));
      const T* value = static_cast<const T*>(buffers.inputs[2]) +
                       (stack * keys_ + first) * value_width_;
      weighted_sum(weights, value, count, value_width_, y);
    }
  }

  // scale query · key, -infinity where the query does not look at the key.
  void score(const KernelBuffers& buffers, std::size_t stack, std::size_t query,
             std::size_t first, std::size_t count, float* scores) const {
    const T* key = static_cast<const T*>(buffers.inputs[1]) +
                   (stack * keys_ + first) * width_;
    const T* row = static_cast<const T*>(buffers.inputs[0]) +
                   (stack * queries_ + query) * width_;
    const bool* mask = nullptr;
    if (has_mask_) {
      mask = static_cast<const bool*>(buffers.inputs[kMaskOfAttention]) +
             sizes_.mask_begin(static_cast<std::int64_t>(stack));
    }
    const auto scale = static_cast<float>(sizes_.scale);
    for (std::size_t j = 0; j < count; ++j) {
      const bool is_later = sizes_.causal && first + j > query;
      const bool is_masked =
          mask != nullptr && !mask[sizes_.mask_at(static_cast<Dim>(query),
                                                  static_cast<Dim>(first + j))];
      scores[j] = is_later || is_masked
                      ? kHidden
                      : scale * dot(row, key + j * width_, width_);
    }
  }
  // The parts of a query, each of which is relative to its own largest score.
  void combine(const KernelBuffers& buffers, std::size_t stack,
               std::size_t query) const noexcept {
    const auto part = [&](std::size_t chunk) {
      return place(buffers, stack, chunk, query);
    };
    float largest = kHidden;
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      largest = std::max(largest, part(chunk)[value_width_]);
    }
    // A query that looks at no key has a sum of 0, not of NaN.
    const float shift = largest == kHidden ? 0 : largest;
    float* sums = part(0);
    float total = 0;
    for (std::size_t chunk = 0; chunk < chunks_; ++chunk) {
      const float* of = part(chunk);
      const float own = of[value_width_];
      // The factor takes a part's sums from its own largest score to that of
      // all (Milakov and Gimelshein, "Online normalizer calculation for
      // softmax", 2018).
      const float factor = std::exp((own == kHidden ? 0 : own) - shift);
      total += factor * of[value_width_ + 1];
      // The sums stand in the first part's memory, of which each number is read
      // before it is replaced.
      for (std::size_t w = 0; w < value_width_; ++w) {
        sums[w] = (chunk == 0 ? 0 : sums[w]) + factor * of[w];
      }
    }
    const std::size_t row = stack * queries_ + query;
    const float divisor = total == 0 ? 1 : total;
    T* y = static_cast<T*>(buffers.outputs[0]) + row * value_width_;
    for (std::size_t w = 0; w < value_width_; ++w) y[w] = T(sums[w] / divisor);
    static_cast<float*>(buffers.outputs[1])[row] =
        total == 0 ? 0 : shift + std::log(total);
  }

  AttentionSizes sizes_;
  std::size_t queries_, keys_, width_, value_width_, chunks_;
  bool has_mask_;
};

std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  switch (call.input(0).dtype) {
    case DType::kBF16:
      return std::make_unique<FewQueries<bfloat16>>(call);
    case DType::kF16:
      return std::make_unique<FewQueries<float16>>(call);
    default:
      return std::make_unique<FewQueries<float>>(call);
  }
}

std::optional<std::string> declines(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return "computes in f32";
  for (const TensorType& type : call.inputs) {
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  const Dim queries = AttentionSizes(call, kMaskOfAttention).queries;
  if (queries > kMostQueries) {
    return fmt::format("pays for up to {} queries", kMostQueries);
  }
  return std::nullopt;
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "attention",
               .name = "simd:few_queries",
               .rank = 20,
               .declines = declines,
               .prepare = prepare});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_attention_few_queries(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
