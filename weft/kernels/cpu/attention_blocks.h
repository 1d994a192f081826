// Attention in blocks of keys (Dao, Fu, Ermon, Rudra and Ré, "FlashAttention:
// fast and memory-efficient exact attention with IO-awareness", 2022). Nothing
// as large as queries x keys is ever in memory.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_ATTENTION_BLOCKS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_BLOCKS_H_
#undef WEFT_KERNELS_CPU_ATTENTION_BLOCKS_H_
#else
#define WEFT_KERNELS_CPU_ATTENTION_BLOCKS_H_
#endif

#include <algorithm>
#include <cmath>

#include "weft/kernels/cpu/attention_tiles.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::attention {

using simd::broadcast;
using simd::kLanes;
using simd::load;
using simd::store;
using simd::tile_product;
using simd::Vector;

// How weights are computed from scores: as power(kUnit * score).
struct Weights {
  static constexpr float kUnit = 1;
  static Vector power(Vector x) { return simd::exp_of_negative(x); }
};
struct Bf16Weights {
  static constexpr float kUnit = 0x1.715476p0f;  // 1 / log(2)
  static Vector power(Vector x) { return simd::exp2_for_bf16(x); }
};

// The online softmax (Milakov and Gimelshein, 2018) of a block of queries.
template <class Weights>
class RunningSoftmax {
 public:
  RunningSoftmax() {
    std::fill_n(largest_, kTile, kHidden);
    std::fill_n(total_, kTile, 0.f);
  }

  // Makes exp(score - the largest so far) of the scores, which are `scale`,
  // a positive number, times what the tile holds. Returns whether a largest has
  // grown: then earlier sums are to be multiplied by factor().
  bool add(float* tile, std::size_t keys, std::size_t columns,
           float scale = 1) {
    scale *= Weights::kUnit;
    bool has_grown = false;
    std::size_t v = 0;
    for (; v + kTogether * kLanes <= columns; v += kTogether * kLanes) {
      has_grown |= add_columns<kTogether>(tile + v, keys, v, scale);
    }
    for (; v < columns; v += kLanes) {
      has_grown |= add_columns<1>(tile + v, keys, v, scale);
    }
    return has_grown;
  }
  float factor(std::size_t query) const { return factor_[query]; }
  const float* factors() const { return factor_; }

  // What the sums are divided by, and the logarithm of the sum of exp(score);
  // 1 and 0 for a query that looks at no key.
  float divisor(std::size_t query) const {
    return total_[query] == 0 ? 1 : total_[query];
  }
  float total(std::size_t query) const { return total_[query]; }
  float log_sum_exp(std::size_t query) const {
    return total_[query] == 0
               ? 0
               : largest_[query] / Weights::kUnit + std::log(total_[query]);
  }

 private:
  // Each step down the keys waits for the one before it in its column; so many
  // columns keep the machine busy meanwhile.
  static constexpr std::size_t kTogether = kLanes >= 16 ? 4 : 2;

  // The same for some vectors of queries, of which `first` is the first query.
  template <std::size_t kVectors>
  bool add_columns(float* scores, std::size_t keys, std::size_t first,
                   float scale) {
    Vector before[kVectors], largest[kVectors], shift[kVectors], sum[kVectors];
    for (std::size_t n = 0; n < kVectors; ++n) {
      before[n] = load(largest_ + first + n * kLanes);
      largest[n] = broadcast(kHidden);
      sum[n] = broadcast(0.f);
    }
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t n = 0; n < kVectors; ++n) {
        largest[n] = hn::Max(largest[n], load(scores + j * kTile + n * kLanes));
      }
    }
    for (std::size_t n = 0; n < kVectors; ++n) {
      largest[n] = hn::Max(before[n], hn::Mul(largest[n], broadcast(scale)));
    }
    // A query that has looked at no key yet keeps a sum of 0, not of NaN.
    for (std::size_t n = 0; n < kVectors; ++n) {
      shift[n] = hn::IfThenZeroElse(hn::Eq(largest[n], broadcast(kHidden)),
                                    largest[n]);
    }
    for (std::size_t j = 0; j < keys; ++j) {
      for (std::size_t n = 0; n < kVectors; ++n) {
        float* place = scores + j * kTile + n * kLanes;
        const Vector weight =
            Weights::power(hn::MulSub(load(place), broadcast(scale), shift[n]));
        store(weight, place);
        sum[n] = hn::Add(sum[n], weight);
      }
    }
    bool has_grown = false;
    for (std::size_t n = 0; n < kVectors; ++n) {
      const std::size_t at = first + n * kLanes;
      // Earlier weights were relative to a smaller largest score: the factor
      // brings their sums to the new one. It is 0 for the first block, where
      // `before` is -∞.
      const Vector factor = Weights::power(hn::Sub(before[n], shift[n]));
      store(factor, factor_ + at);
      store(hn::MulAdd(load(total_ + at), factor, sum[n]), total_ + at);
      store(largest[n], largest_ + at);
      has_grown |= !hn::AllTrue(simd::Floats(), hn::Eq(largest[n], before[n]));
    }
    return has_grown;
  }

  alignas(64) float largest_[kTile];
  alignas(64) float total_[kTile];
  alignas(64) float factor_[kTile];
};

inline void scale_row(float* row, std::size_t width, float factor) {
  simd::map(row, row, width,
            [&](Vector x) { return hn::Mul(x, broadcast(factor)); });
}

class Attention : public AttentionKernel {
 public:
  Attention(const OpCall& call, const AttentionPlaces& places)
      : AttentionKernel(call, places.sizes, places.mask),
        query_rows_(places.query),
        value_rows_(places.value),
        result_rows_(places.result),
        makes_sums_(places.makes_sums) {
    key_rows_ = places.key;
  }

  // Each block of queries, transposed.
  std::size_t scratch_bytes() const override {
    return stacks_ * query_blocks_ * width_ * kTile * sizeof(float);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    share_out(stacks_ * query_blocks_, [&](std::size_t task) {
      attend(buffers, task / query_blocks_, task % query_blocks_);
    });
  }

 private:
  void attend(const KernelBuffers& buffers, std::size_t stack,
              std::size_t block) const {
    const Block queries(block, queries_);
    float* transposed = static_cast<float*>(buffers.scratch) +
                        (stack * query_blocks_ + block) * width_ * kTile;
    transpose(floats(buffers, 0) + query_rows_.begin(stack),
              query_rows_.row_step, queries, width_,
              static_cast<float>(sizes_.scale), transposed);
    const std::size_t step = result_rows_.row_step;
    float* y =
        result(buffers, 0) + result_rows_.begin(stack) + queries.first * step;
    alignas(64) float tile[kTile * kTile];
    RunningSoftmax<Weights> softmax;
    for (std::size_t j = 0; j < key_blocks(queries); ++j) {
      const Block keys(j, keys_);
      score(buffers, stack, queries, transposed, keys, tile);
      const bool has_grown = softmax.add(tile, keys.count, queries.columns());
      // Most blocks bring no larger score, and then the sums stay.
      for (std::size_t i = 0; j > 0 && has_grown && i < queries.count; ++i) {
        if (softmax.factor(i) == 1) continue;
        scale_row(y + i * step, value_width_, softmax.factor(i));
      }
      const std::size_t value_step = value_rows_.row_step;
      const float* value = floats(buffers, 2) + value_rows_.begin(stack) +
                           keys.first * value_step;
      tile_product(queries.count, value_width_, keys.count, {tile, 1, kTile},
                   {value, value_step}, {y, step}, j > 0);
    }
    // Dividing once, in the end, takes less than dividing every weight.
    for (std::size_t i = 0; i < queries.count; ++i) {
      const float divisor = adds_mask() ? softmax.total(i) : softmax.divisor(i);
      scale_row(y + i * step, value_width_, 1 / divisor);
      if (!makes_sums_) continue;
      result(buffers, 1)[stack * queries_ + queries.first + i] =
          softmax.log_sum_exp(i);
    }
  }

  HeadRows query_rows_, value_rows_, result_rows_;
  bool makes_sums_;
};

}  // namespace weft::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // per target
