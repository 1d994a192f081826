// The gradient of attention, in the same blocks: Dao et al., "FlashAttention",
// 2022, appendix B.2. Scores are computed again, and the weights follow from
// them and the logarithm of their sum.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/attention_gradient.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/attention_tiles.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace attention;  // NOLINT: this file's own support
using simd::broadcast;
using simd::kLanes;
using simd::load;
using simd::store;
using simd::tile_product;
using simd::Vector;

class AttentionGradient : public AttentionKernel {
 public:
  explicit AttentionGradient(const OpCall& call)
      : AttentionKernel(call, AttentionSizes(call, kMaskOfGradient),
                        kMaskOfGradient),
        parts_(key_parts()) {}

  std::size_t scratch_bytes() const override {
    return stacks_ * (stack_scratch() + (parts_ - 1) * query_size()) *
           sizeof(float);
  }

  // Threads share out the batches and heads and, where these are few, the keys.
  // Each part of the keys sums up a gradient of the queries by itself; the sums
  // are added in order, and their number depends on shapes alone.
  void run(const KernelBuffers& buffers) noexcept override {
    // What all blocks of keys need of a block of queries is made once, before
    // they meet it.
    share_out(stacks_ * query_blocks_, [&](std::size_t task) {
      prepare_block(buffers, task / query_blocks_, task % query_blocks_);
    });
    share_out(stacks_ * parts_, [&](std::size_t task) {
      go_back(buffers, task / parts_, task % parts_);
    });
    // A single part has summed up where the result lies.
    if (parts_ == 1) return;
    share_out(stacks_ * query_blocks_, [&](std::size_t task) {
      add_parts(buffers, task / query_blocks_, task % query_blocks_);
    });
  }

 private:
  std::size_t query_size() const { return queries_ * width_; }

  // Where a part of the keys sums up the gradient of a stack's queries.
  float* query_sums(const KernelBuffers& buffers, std::size_t stack,
                    std::size_t part) const {
    // The first part uses the result's own memory, so that the others alone
    // need scratch.
    if (part == 0) return result(buffers, 0) + stack * query_size();
    return static_cast<float*>(buffers.scratch) + stacks_ * stack_scratch() +
           (stack * (parts_ - 1) + part - 1) * query_size();
  }

  // What is made ready for one block of queries: the queries and dy,
  // transposed, and for each query two numbers, log sum exp and Σ dy y.
  struct Prepared {
    float *query, *dy, *lse, *common;
  };

  std::size_t block_scratch() const {
    return (width_ + value_width_ + 2) * kTile;
  }
  std::size_t stack_scratch() const { return query_blocks_ * block_scratch(); }

  Prepared prepared(const KernelBuffers& buffers, std::size_t stack,
                    std::size_t block) const {
    float* query = static_cast<float*>(buffers.scratch) +
                   stack * stack_scratch() + block * block_scratch();
    float* dy = query + width_ * kTile;
    float* lse = dy + value_width_ * kTile;
    return {query, dy, lse, lse + kTile};
  }

  void prepare_block(const KernelBuffers& buffers, std::size_t stack,
                     std::size_t block) const {
    const Block queries(block, queries_);
    const Prepared to = prepared(buffers, stack, block);
    const float* dy = floats(buffers, 5) + stack * queries_ * value_width_;
    transpose(floats(buffers, 0) + stack * queries_ * width_, width_, queries,
              width_, static_cast<float>(sizes_.scale), to.query);
    transpose(dy, value_width_, queries, value_width_, 1, to.dy);
    const float* y = floats(buffers, 3) + stack * queries_ * value_width_;
    const float* lse = floats(buffers, 4) + stack * queries_;
    // Queries that fill up the last block get numbers too, since whole vectors
    // compute with them.
    std::fill_n(to.lse, 2 * kTile, 0.f);
    for (std::size_t i = 0; i < queries.count; ++i) {
      const std::size_t row = queries.first + i;
      to.lse[i] = lse[row];
      for (std::size_t w = row * value_width_; w < (row + 1) * value_width_;
           ++w) {
        to.common[i] += dy[w] * y[w];
      }
    }
  }

  // A part takes every parts_-th block of keys, so that all parts are alike
  // under a causal mask, too.
  void go_back(const KernelBuffers& buffers, std::size_t stack,
               std::size_t part) const {
    float* sums = query_sums(buffers, stack, part);
    std::fill_n(sums, query_size(), 0.f);
    for (std::size_t j = part; j < key_blocks_; j += parts_) {
      const Block keys(j, keys_);
      const std::size_t key = stack * keys_ + keys.first;
      // One task has a block of keys to itself, and adds up its gradients where
      // they will lie.
      std::fill_n(result(buffers, 1) + key * width_, keys.count * width_, 0.f);
      std::fill_n(result(buffers, 2) + key * value_width_,
                  keys.count * value_width_, 0.f);
      for (std::size_t i = first_query_block(keys); i < query_blocks_; ++i) {
        add_tile(buffers, stack, i, keys, sums);
      }
    }
  }

  void add_parts(const KernelBuffers& buffers, std::size_t stack,
                 std::size_t block) const {
    const Block queries(block, queries_);
    const std::size_t begin = queries.first * width_;
    float* sums = query_sums(buffers, stack, 0) + begin;
    for (std::size_t part = 1; part < parts_; ++part) {
      const float* more = query_sums(buffers, stack, part) + begin;
      for (std::size_t i = 0; i < queries.count * width_; ++i) {
        sums[i] += more[i];
      }
    }
  }

  void add_tile(const KernelBuffers& buffers, std::size_t stack,
                std::size_t block, const Block& keys, float* sums) const {
    const Block queries(block, queries_);
    const Prepared of = prepared(buffers, stack, block);
    const std::size_t query = stack * queries_ + queries.first;
    const std::size_t key = stack * keys_ + keys.first;
    // No matrix of queries and keys is ever in memory: a tile of it lives while
    // this runs.
    alignas(64) float weights[kTile * kTile];
    alignas(64) float slopes[kTile * kTile];
    score(buffers, stack, queries, of.query, keys, weights);
    // dp = value dyᵀ
    tile_product(keys.count, queries.columns(), value_width_,
                 {floats(buffers, 2) + key * value_width_, value_width_, 1},
                 {of.dy, kTile}, {slopes, kTile}, false);
    differentiate(of, keys.count, queries.columns(), weights, slopes);
    // dv += pᵀ dy, then dk += dsᵀ q and dq += ds k. The tiles hold keys by
    // queries, so that the first two read them as they lie.
    tile_product(keys.count, value_width_, queries.count, {weights, kTile, 1},
                 {floats(buffers, 5) + query * value_width_, value_width_},
                 {result(buffers, 2) + key * value_width_, value_width_}, true);
    tile_product(keys.count, width_, queries.count, {slopes, kTile, 1},
                 {floats(buffers, 0) + query * width_, width_},
                 {result(buffers, 1) + key * width_, width_}, true);
    tile_product(queries.count, width_, keys.count, {slopes, 1, kTile},
                 {floats(buffers, 1) + key * width_, width_},
                 {sums + queries.first * width_, width_}, true);
  }

  // From scores to weights p = exp(score - lse), and from dp to the gradient
  // of the product query keyᵀ: p (dp - Σ dy y) scale.
  void differentiate(const Prepared& of, std::size_t keys, std::size_t columns,
                     float* weights, float* slopes) const {
    const Vector scale = broadcast(static_cast<float>(sizes_.scale));
    for (std::size_t v = 0; v < columns; v += kLanes) {
      const Vector lse = load(of.lse + v);
      const Vector common = load(of.common + v);
      for (std::size_t j = 0; j < keys; ++j) {
        float* weight = weights + j * kTile + v;
        float* slope = slopes + j * kTile + v;
        const Vector p = simd::exp(hn::Sub(load(weight), lse));
        store(p, weight);
        const Vector distance = hn::Sub(load(slope), common);
        store(hn::Mul(hn::Mul(p, distance), scale), slope);
      }
    }
  }

  std::size_t parts_;  // of the keys
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "attention_gradient",
       .name = "simd:attention_gradient",
       .rank = 10,
       .declines = declines,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<AttentionGradient>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_attention_gradient(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
