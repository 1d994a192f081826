// Attention of bf16 in the same blocks (attention_blocks.h), on a machine that
// multiplies bf16 (bf16_products.h). Scores and sums are of f32; weights are
// rounded to bf16 before they meet the values.
//
// A tile of weights, keys by queries, is the right operand of yᵀ += valueᵀ
// weightsᵀ as it lies. So sums have their queries side by side too, where a
// vector of factors brings them to a new largest score, and y is transposed
// once, in the end.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/attention_bf16.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/attention_bf16_kernel.h"
#include "weft/kernels/cpu/attention_blocks.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace attention;  // NOLINT: this file's own support

class Bf16Attention : public Bf16AttentionKernel {
 public:
  Bf16Attention(const OpCall& call, const AttentionPlaces& places)
      : Bf16AttentionKernel(call, places.sizes, places.mask),
        query_rows_(places.query),
        value_rows_(places.value),
        result_rows_(places.result),
        makes_sums_(places.makes_sums) {
    key_rows_ = places.key;
  }

  std::size_t scratch_bytes() const override {
    return stacks_ *
           (key_blocks_ * key_bytes() + query_blocks_ * query_bytes());
  }

  void run(const KernelBuffers& buffers) noexcept override {
    // All blocks of queries read the keys and values.
    share_out(stacks_ * key_blocks_, [&](std::size_t task) {
      pack_keys(buffers, task / key_blocks_, task % key_blocks_);
    });
    share_out(stacks_ * query_blocks_, [&](std::size_t task) {
      attend(buffers, task / query_blocks_, task % query_blocks_);
    });
  }

 private:
  // A block of keys, and one of values, transposed.
  struct PackedKeys {
    bfloat16 *keys, *values;
  };
  // A block of queries, as the right operand, and its yᵀ.
  struct PackedQueries {
    Bf16Pair* queries;
    float* sums;
  };

  std::size_t key_bytes() const {
    return kTile * (wide_ + values_wide_) * sizeof(bfloat16);
  }
  std::size_t query_bytes() const {
    return kTile *
           (wide_ / 2 * sizeof(Bf16Pair) + values_wide_ * sizeof(float));
  }
  PackedKeys packed_keys(const KernelBuffers& buffers, std::size_t stack,
                         std::size_t block) const {
    auto* keys = reinterpret_cast<bfloat16*>(
        static_cast<std::byte*>(buffers.scratch) +
        (stack * key_blocks_ + block) * key_bytes());
    return {keys, keys + kTile * wide_};
  }
  PackedQueries packed_queries(const KernelBuffers& buffers, std::size_t stack,
                               std::size_t block) const {
    auto* queries = reinterpret_cast<Bf16Pair*>(
        static_cast<std::byte*>(buffers.scratch) +
        stacks_ * key_blocks_ * key_bytes() +
        (stack * query_blocks_ + block) * query_bytes());
    return {queries, reinterpret_cast<float*>(queries + kTile * (wide_ / 2))};
  }

  void pack_keys(const KernelBuffers& buffers, std::size_t stack,
                 std::size_t block) const {
    const Block keys(block, keys_);
    const PackedKeys to = packed_keys(buffers, stack, block);
    pack_bf16_rows(rows_of(buffers, 1, key_rows_, stack, keys, width_), kTile,
                   wide_, to.keys);
    pack_bf16_transposed(
        rows_of(buffers, 2, value_rows_, stack, keys, value_width_),
        values_wide_, kTile, to.values);
  }

  void attend(const KernelBuffers& buffers, std::size_t stack,
              std::size_t block) const {
    const Block queries(block, queries_);
    const std::size_t columns = rounded_up(queries.count, kBf16Side);
    const PackedQueries to = packed_queries(buffers, stack, block);
    pack_bf16_transposed_pairs(
        rows_of(buffers, 0, query_rows_, stack, queries, width_), wide_ / 2,
        kTile, to.queries);
    alignas(64) float tile[kTile * kTile];
    alignas(64) Bf16Pair weights[kTile / 2 * kTile];
    RunningSoftmax<Bf16Weights> softmax;
    const Bf16Products multiply(machine());
    for (std::size_t j = 0; j < key_blocks(queries); ++j) {
      const Block keys(j, keys_);
      const PackedKeys of = packed_keys(buffers, stack, j);
      const float scale = score(buffers, stack, queries, keys, multiply,
                                of.keys, to.queries, tile);
      const bool has_grown = softmax.add(tile, keys.count, columns, scale);
      if (j > 0 && has_grown) {
        scale_columns(to.sums, columns, softmax.factors());
      }
      const std::size_t depth = rounded_up(keys.count, kBf16Depth);
      clear_rows(tile, keys.count, depth);
      round_to_bf16_pairs(tile, depth, columns, kTile, weights);
      multiply({values_wide_, columns, depth, of.values, kTile, weights, kTile,
                to.sums, kTile, j > 0});
    }
    finish(buffers, stack, queries, softmax, to.sums);
  }

  // sums [:, i] *= factors[i]
  void scale_columns(float* sums, std::size_t columns,
                     const float* factors) const {
    for (std::size_t v = 0; v < columns; v += kLanes) {
      const Vector factor = load(factors + v);
      for (std::size_t w = 0; w < values_wide_; ++w) {
        float* place = sums + w * kTile + v;
        store(hn::Mul(load(place), factor), place);
      }
    }
  }

  void finish(const KernelBuffers& buffers, std::size_t stack,
              const Block& queries, const RunningSoftmax<Bf16Weights>& softmax,
              const float* sums) const {
    alignas(64) float factors[kTile] = {};
    for (std::size_t i = 0; i < queries.count; ++i) {
      factors[i] = 1 / (adds_mask() ? softmax.total(i) : softmax.divisor(i));
    }
    const std::size_t step = result_rows_.row_step;
    round_to_bf16_transposed(sums, kTile, factors, queries.count, value_width_,
                             static_cast<bfloat16*>(buffers.outputs[0]) +
                                 result_rows_.begin(stack) +
                                 queries.first * step,
                             step);
    for (std::size_t i = 0; makes_sums_ && i < queries.count; ++i) {
      result(buffers, 1)[stack * queries_ + queries.first + i] =
          softmax.log_sum_exp(i);
    }
  }

  HeadRows query_rows_, value_rows_, result_rows_;
  bool makes_sums_;
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "attention",
       .name = "bf16:attention",
       .rank = 15,
       .declines = declines_but_bf16,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<Bf16Attention>(call, AttentionPlaces(call));
       }});
  kernels.add(
      {.op = "multi_head_attention",
       .name = "bf16:multi_head_attention",
       .rank = 15,
       .declines = declines_but_bf16,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<Bf16Attention>(
             call, AttentionPlaces(call, HeadSizes(call)));
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_attention_bf16(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
