// The gradient of attention (attention_gradient.cpp) of bf16, on a machine that
// multiplies bf16 (bf16_products.h): weights and their gradients are rounded to
// bf16 before they meet an operand, and all sums are of f32.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/attention_gradient_bf16.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/attention_bf16_kernel.h"
#include "weft/kernels/loop/tile_functions.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace attention;  // NOLINT: this file's own support
using simd::broadcast;
using simd::kLanes;
using simd::load;
using simd::store;
using simd::Vector;

class Bf16AttentionGradient : public Bf16AttentionKernel {
 public:
  explicit Bf16AttentionGradient(const OpCall& call)
      : Bf16AttentionKernel(call, AttentionSizes(call, kMaskOfGradient),
                            kMaskOfGradient),
        parts_(key_parts()) {}

  std::size_t scratch_bytes() const override {
    return stacks_ * (query_blocks_ * query_bytes() +
                      parts_ * (key_bytes() + query_blocks_ * sum_bytes()));
  }

  // Threads share out the work as in the kernel of f32.
  void run(const KernelBuffers& buffers) noexcept override {
    share_out(stacks_ * query_blocks_, [&](std::size_t task) {
      pack_queries(buffers, task / query_blocks_, task % query_blocks_);
    });
    share_out(stacks_ * parts_, [&](std::size_t task) {
      go_back(buffers, task / parts_, task % parts_);
    });
    share_out(stacks_ * query_blocks_, [&](std::size_t task) {
      finish_queries(buffers, task / query_blocks_, task % query_blocks_);
    });
  }

 private:
  // What is made ready for one block of queries: the queries and dy, transposed
  // and as they lie, and for each query two numbers, log sum exp and Σ dy y.
  struct PackedQueries {
    Bf16Pair *query_transposed, *dy_transposed, *query, *dy;
    float *lse, *common;
  };
  // A block of keys and of values, the keys transposed, and their gradients.
  struct PackedKeys {
    bfloat16 *key, *value, *transposed;
    float *key_sums, *value_sums;
  };
  // A tile of weights and one of gradients of scores, as operands.
  struct Tile {
    alignas(64) float weights[kTile * kTile];
    alignas(64) float slopes[kTile * kTile];
    alignas(64) bfloat16 weight_rows[kTile * kTile];
    alignas(64) bfloat16 slope_rows[kTile * kTile];
    alignas(64) Bf16Pair slope_pairs[kTile / 2 * kTile];
  };

  std::size_t query_bytes() const {
    return kTile * (wide_ + values_wide_) * sizeof(Bf16Pair) +
           2 * kTile * sizeof(float);
  }
  std::size_t key_bytes() const {
    return kTile * ((2 * wide_ + values_wide_) * sizeof(bfloat16) +
                    (wide_ + values_wide_) * sizeof(float));
  }
  std::size_t sum_bytes() const { return kTile * wide_ * sizeof(float); }

  PackedQueries packed_queries(const KernelBuffers& buffers, std::size_t stack,
                               std::size_t block) const {
    auto* query = reinterpret_cast<Bf16Pair*>(
        static_cast<std::byte*>(buffers.scratch) +
        (stack * query_blocks_ + block) * query_bytes());
    Bf16Pair* dy = query + kTile / 2 * wide_;
    Bf16Pair* query_rows = dy + kTile / 2 * values_wide_;
    Bf16Pair* dy_rows = query_rows + kTile / 2 * wide_;
    auto* lse = reinterpret_cast<float*>(dy_rows + kTile / 2 * values_wide_);
    return {query, dy, query_rows, dy_rows, lse, lse + kTile};
  }
  // Each part of the keys has memory for one block.
  PackedKeys packed_keys(const KernelBuffers& buffers, std::size_t stack,
                         std::size_t part) const {
    auto* key =
        reinterpret_cast<bfloat16*>(static_cast<std::byte*>(buffers.scratch) +
                                    stacks_ * query_blocks_ * query_bytes() +
                                    (stack * parts_ + part) * key_bytes());
    bfloat16* value = key + kTile * wide_;
    bfloat16* transposed = value + kTile * values_wide_;
    auto* sums = reinterpret_cast<float*>(transposed + kTile * wide_);
    return {key, value, transposed, sums, sums + kTile * wide_};
  }
  // Where a part of the keys sums up dqᵀ of a block of queries.
  float* query_sums(const KernelBuffers& buffers, std::size_t stack,
                    std::size_t part, std::size_t block) const {
    return reinterpret_cast<float*>(
        static_cast<std::byte*>(buffers.scratch) +
        stacks_ * (query_blocks_ * query_bytes() + parts_ * key_bytes()) +
        ((stack * parts_ + part) * query_blocks_ + block) * sum_bytes());
  }

  Bf16Rows rows(const KernelBuffers& buffers, std::size_t input,
                std::size_t length, std::size_t width, std::size_t stack,
                const Block& block) const {
    return rows_of(buffers, input, HeadRows::dense(length, width), stack, block,
                   width);
  }

  void pack_queries(const KernelBuffers& buffers, std::size_t stack,
                    std::size_t block) const {
    const Block queries(block, queries_);
    const PackedQueries to = packed_queries(buffers, stack, block);
    const Bf16Rows query = rows(buffers, 0, queries_, width_, stack, queries);
    const Bf16Rows y = rows(buffers, 3, queries_, value_width_, stack, queries);
    const Bf16Rows dy =
        rows(buffers, 5, queries_, value_width_, stack, queries);
    pack_bf16_transposed_pairs(query, wide_ / 2, kTile, to.query_transposed);
    pack_bf16_transposed_pairs(dy, values_wide_ / 2, kTile, to.dy_transposed);
    pack_bf16_pairs(query, kTile / 2, wide_, to.query);
    pack_bf16_pairs(dy, kTile / 2, values_wide_, to.dy);
    const float* lse = floats(buffers, 4) + stack * queries_ + queries.first;
    std::fill_n(to.lse, 2 * kTile, 0.f);
    std::copy_n(lse, queries.count, to.lse);
    for (std::size_t i = 0; i < queries.count; ++i) {
      to.common[i] = dot(y.data + i * y.step, dy.data + i * dy.step);
    }
  }

  // Σ dy y of a query.
  float dot(const bfloat16* y, const bfloat16* dy) const {
    float sum = 0;
    for (std::size_t w = 0; w < value_width_; ++w) {
      sum += static_cast<float>(y[w]) * static_cast<float>(dy[w]);
    }
    return sum;
  }

  void go_back(const KernelBuffers& buffers, std::size_t stack,
               std::size_t part) const {
    std::fill_n(query_sums(buffers, stack, part, 0),
                query_blocks_ * kTile * wide_, 0.f);
    const Bf16Products multiply(machine());
    for (std::size_t j = part; j < key_blocks_; j += parts_) {
      const Block keys(j, keys_);
      const PackedKeys of = packed_keys(buffers, stack, part);
      pack_keys(buffers, stack, keys, of);
      for (std::size_t i = first_query_block(keys); i < query_blocks_; ++i) {
        add_tile(buffers, stack, i, keys, of, multiply,
                 query_sums(buffers, stack, part, i));
      }
      finish_keys(buffers, stack, keys, of);
    }
  }

  void pack_keys(const KernelBuffers& buffers, std::size_t stack,
                 const Block& keys, const PackedKeys& to) const {
    const Bf16Rows key = rows(buffers, 1, keys_, width_, stack, keys);
    pack_bf16_rows(key, kTile, wide_, to.key);
    pack_bf16_transposed(key, wide_, kTile, to.transposed);
    pack_bf16_rows(rows(buffers, 2, keys_, value_width_, stack, keys), kTile,
                   values_wide_, to.value);
    std::fill_n(to.key_sums, kTile * (wide_ + values_wide_), 0.f);
  }

  void add_tile(const KernelBuffers& buffers, std::size_t stack,
                std::size_t block, const Block& keys, const PackedKeys& key,
                const Bf16Products& multiply, float* sums) const {
    const Block queries(block, queries_);
    const PackedQueries of = packed_queries(buffers, stack, block);
    const std::size_t rows = rounded_up(keys.count, kBf16Side);
    const std::size_t columns = rounded_up(queries.count, kBf16Side);
    Tile tile;
    const float scale = score(buffers, stack, queries, keys, multiply, key.key,
                              of.query_transposed, tile.weights);
    // dp = value dyᵀ
    multiply({rows, columns, values_wide_, key.value, values_wide_,
              of.dy_transposed, kTile, tile.slopes, kTile});
    differentiate(of, keys.count, columns, scale, tile);
    round(keys.count, columns, tile);
    // dv += pᵀ dy, then dk += dsᵀ q and dqᵀ += kᵀ ds. The tiles hold keys by
    // queries.
    const std::size_t query_depth = rounded_up(queries.count, kBf16Depth);
    multiply({rows, values_wide_, query_depth, tile.weight_rows, kTile, of.dy,
              values_wide_, key.value_sums, values_wide_, true});
    multiply({rows, wide_, query_depth, tile.slope_rows, kTile, of.query, wide_,
              key.key_sums, wide_, true});
    multiply({wide_, columns, rounded_up(keys.count, kBf16Depth),
              key.transposed, kTile, tile.slope_pairs, kTile, sums, kTile,
              true});
  }

  // From scores to weights p = exp(score - lse), as a power of 2, and from dp
  // to the gradient of the product query keyᵀ: p (dp - Σ dy y) scale.
  void differentiate(const PackedQueries& of, std::size_t keys,
                     std::size_t columns, float score_scale, Tile& tile) const {
    const Vector scale = broadcast(static_cast<float>(sizes_.scale));
    constexpr float kLog2e = 0x1.715476p0f;
    const Vector unit = broadcast(score_scale * kLog2e);
    for (std::size_t v = 0; v < columns; v += kLanes) {
      const Vector lse = hn::Mul(load(of.lse + v), broadcast(kLog2e));
      const Vector common = load(of.common + v);
      for (std::size_t j = 0; j < keys; ++j) {
        float* weight = tile.weights + j * kTile + v;
        float* slope = tile.slopes + j * kTile + v;
        const Vector p =
            simd::exp2_for_bf16(hn::MulSub(load(weight), unit, lse));
        store(p, weight);
        const Vector distance = hn::Sub(load(slope), common);
        store(hn::Mul(hn::Mul(p, distance), scale), slope);
      }
    }
  }

  static void round(std::size_t keys, std::size_t columns, Tile& tile) {
    const std::size_t depth = rounded_up(keys, kBf16Depth);
    clear_rows(tile.weights, keys, depth);
    clear_rows(tile.slopes, keys, depth);
    // Products read whole tiles of queries.
    if (columns < kTile) {
      std::fill_n(tile.weight_rows, kTile * kTile, bfloat16{});
      std::fill_n(tile.slope_rows, kTile * kTile, bfloat16{});
    }
    round_to_bf16_rows(tile.weights, depth, columns, kTile, tile.weight_rows);
    round_to_bf16_rows(tile.slopes, depth, columns, kTile, tile.slope_rows);
    round_to_bf16_pairs(tile.slopes, depth, columns, kTile, tile.slope_pairs);
  }

  void finish_keys(const KernelBuffers& buffers, std::size_t stack,
                   const Block& keys, const PackedKeys& of) const {
    store_rows(of.key_sums, wide_, width_, keys.count,
               rounded(buffers, 1) + (stack * keys_ + keys.first) * width_);
    store_rows(
        of.value_sums, values_wide_, value_width_, keys.count,
        rounded(buffers, 2) + (stack * keys_ + keys.first) * value_width_);
  }

  static bfloat16* rounded(const KernelBuffers& buffers, std::size_t output) {
    return static_cast<bfloat16*>(buffers.outputs[output]);
  }

  static void store_rows(const float* sums, std::size_t row, std::size_t width,
                         std::size_t count, bfloat16* to) {
    for (std::size_t i = 0; i < count; ++i) {
      store_tile(DType::kBF16, sums + i * row, to + i * width,
                 static_cast<std::int64_t>(width));
    }
  }

  void finish_queries(const KernelBuffers& buffers, std::size_t stack,
                      std::size_t block) const {
    const Block queries(block, queries_);
    float* sums = query_sums(buffers, stack, 0, block);
    for (std::size_t part = 1; part < parts_; ++part) {
      const float* more = query_sums(buffers, stack, part, block);
      for (std::size_t i = 0; i < kTile * wide_; ++i) sums[i] += more[i];
    }
    alignas(64) float ones[kTile];
    std::fill_n(ones, kTile, 1.f);
    round_to_bf16_transposed(
        sums, kTile, ones, queries.count, width_,
        rounded(buffers, 0) + (stack * queries_ + queries.first) * width_,
        width_);
  }

  std::size_t parts_;  // of the keys
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "attention_gradient",
       .name = "bf16:attention_gradient",
       .rank = 15,
       .declines = declines_but_bf16,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<Bf16AttentionGradient>(call);
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_attention_gradient_bf16(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
