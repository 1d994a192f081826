// What the kernels of attention and of its gradient share: tiles of scores.
//
// A tile has a block of keys below each other and the scores of a block of
// queries side by side: a vector holds one key's scores for many queries. So
// the largest and the sum over keys are those of vectors, and of all operands
// only the queries are transposed.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_ATTENTION_TILES_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_TILES_H_
#undef WEFT_KERNELS_CPU_ATTENTION_TILES_H_
#else
#define WEFT_KERNELS_CPU_ATTENTION_TILES_H_
#endif

#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/graph/kernel.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/tile_product.h"
#include "weft/ops/support/heads.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::attention {

namespace hn = simd::hn;

// A tile's sides. Its scores, its keys and its values, 16 KiB each at a width
// of 64, fit L1 two at a time.
inline constexpr std::size_t kTile = 64;
inline constexpr float kHidden = -std::numeric_limits<float>::infinity();

constexpr std::size_t rounded_up(std::size_t n, std::size_t unit) {
  return (n + unit - 1) / unit * unit;
}

// Rows [first, first + count) of queries or of keys.
struct Block {
  std::size_t first, count;

  Block(std::size_t index, std::size_t length)
      : first(index * kTile), count(std::min(kTile, length - first)) {}
  // How many columns their scores take: whole vectors.
  std::size_t columns() const { return rounded_up(count, simd::kLanes); }
};

// Where the operands and the result of a call lie, and how large all is.
struct AttentionPlaces {
  AttentionSizes sizes;
  std::size_t mask;  // which operand it is
  HeadRows query, key, value, result;
  bool makes_sums;  // of exp(score)

  // A call of attention: matrices lie behind each other.
  explicit AttentionPlaces(const OpCall& call)
      : sizes(call, kMaskOfAttention),
        mask(kMaskOfAttention),
        query(HeadRows::dense(at(sizes.queries), at(sizes.width))),
        key(HeadRows::dense(at(sizes.keys), at(sizes.width))),
        value(HeadRows::dense(at(sizes.keys), at(sizes.value_width))),
        result(HeadRows::dense(at(sizes.queries), at(sizes.value_width))),
        makes_sums(true) {}
  // A call with heads in columns, which makes no sums.
  AttentionPlaces(const OpCall& call, const HeadSizes& heads)
      : sizes(heads.attention(call)),
        mask(HeadSizes::kMask),
        query(heads.operand(call, 0)),
        key(heads.operand(call, 1)),
        value(heads.operand(call, 2)),
        result(heads.rows_of_result(call)),
        makes_sums(false) {}
};

// What the two kernels share: sizes, and the scores of a tile.
class AttentionKernel : public PreparedKernel {
 protected:
  // `mask` is the operand that holds the mask, if the call has one.
  AttentionKernel(const OpCall& call, const AttentionSizes& sizes,
                  std::size_t mask)
      : sizes_(sizes),
        stacks_(at(sizes.stacks)),
        queries_(at(sizes.queries)),
        keys_(at(sizes.keys)),
        width_(at(sizes.width)),
        value_width_(at(sizes.value_width)),
        query_blocks_((queries_ + kTile - 1) / kTile),
        key_blocks_((keys_ + kTile - 1) / kTile),
        key_rows_(HeadRows::dense(keys_, width_)),
        mask_(call.has_input(mask) ? std::optional(mask) : std::nullopt),
        mask_dtype_(mask_ ? call.input(mask).dtype : DType::kBool) {}

  // Threads share out the tasks.
  template <class Body>
  static void share_out(std::size_t tasks, Body&& body) {
    parallel_for(static_cast<std::int64_t>(tasks), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto task = at(begin); task < at(end); ++task) {
                     body(task);
                   }
                 });
  }

  static const float* floats(const KernelBuffers& buffers, std::size_t input) {
    return static_cast<const float*>(buffers.inputs[input]);
  }
  static float* result(const KernelBuffers& buffers, std::size_t output) {
    return static_cast<float*>(buffers.outputs[output]);
  }

  // to [width][kTile] = scale * rows [kTile][width], which are `step` apart,
  // with zeros for the rows that the last block lacks.
  static void transpose(const float* rows, std::size_t step, const Block& block,
                        std::size_t width, float scale, float* to) {
    for (std::size_t i = 0; i < kTile; ++i) {
      const float* row = rows + (block.first + i) * step;
      for (std::size_t w = 0; w < width; ++w) {
        to[w * kTile + i] = i < block.count ? row[w] * scale : 0.f;
      }
    }
  }

  // tile [keys][kTile] = keys (scale queries)ᵀ, -infinity where the query does
  // not look at the key.
  void score(const KernelBuffers& buffers, std::size_t stack,
             const Block& queries, const float* transposed, const Block& keys,
             float* tile) const {
    const std::size_t step = key_rows_.row_step;
    const float* key =
        floats(buffers, 1) + key_rows_.begin(stack) + keys.first * step;
    simd::tile_product(keys.count, queries.columns(), width_, {key, step, 1},
                       {transposed, kTile}, {tile, kTile}, false);
    hide(buffers, stack, queries, keys, tile);
  }

  // Whether some query of the block may not look at all of these keys as they
  // are.
  bool hides(const Block& queries, const Block& keys) const {
    return mask_ || (sizes_.causal && keys.first + keys.count > queries.first);
  }

  // Makes scores -infinity where the query does not look at the key, or adds
  // the mask.
  void hide(const KernelBuffers& buffers, std::size_t stack,
            const Block& queries, const Block& keys, float* tile) const {
    if (sizes_.causal) hide_later_keys(queries, keys, tile);
    if (!mask_) return;
    const std::int64_t begin =
        sizes_.mask_begin(static_cast<std::int64_t>(stack));
    const void* mask = buffers.inputs[*mask_];
    switch (mask_dtype_) {
      case DType::kBool:
        return hide_masked_keys(static_cast<const bool*>(mask) + begin, queries,
                                keys, tile);
      case DType::kBF16:
        return add_mask(static_cast<const bfloat16*>(mask) + begin, queries,
                        keys, tile);
      default:
        return add_mask(static_cast<const float*>(mask) + begin, queries, keys,
                        tile);
    }
  }

  // The first block of queries that looks at a key of this block.
  std::size_t first_query_block(const Block& keys) const {
    return sizes_.causal ? keys.first / kTile : 0;
  }
  // How many blocks of keys some query of this block looks at.
  std::size_t key_blocks(const Block& queries) const {
    const std::size_t seen =
        sizes_.causal ? std::min(keys_, queries.first + queries.count) : keys_;
    return (seen + kTile - 1) / kTile;
  }

  // Into how many parts a gradient cuts the keys, where batches and heads are
  // few: each sums up a gradient of the queries by itself.
  std::size_t key_parts() const {
    constexpr std::size_t kTasks = 16;  // enough for most machines
    return std::clamp<std::size_t>(kTasks / stacks_, 1, key_blocks_);
  }

  AttentionSizes sizes_;
  std::size_t stacks_, queries_, keys_, width_, value_width_;
  std::size_t query_blocks_, key_blocks_;
  HeadRows key_rows_;

  // Whether a query that may look at no key has NaN, as by a softmax of scores
  // to which -infinity was added, and not 0.
  bool adds_mask() const { return mask_dtype_ != DType::kBool; }

 private:
  static void hide_later_keys(const Block& queries, const Block& keys,
                              float* tile) {
    for (std::size_t j = 0; j < keys.count; ++j) {
      const std::size_t key = keys.first + j;
      if (key <= queries.first) continue;
      std::fill_n(tile + j * kTile, std::min(kTile, key - queries.first),
                  kHidden);
    }
  }

  template <class T>
  void add_mask(const T* mask, const Block& queries, const Block& keys,
                float* tile) const {
    for (std::size_t j = 0; j < keys.count; ++j) {
      float* scores = tile + j * kTile;
      const auto more = [&](std::size_t i) {
        return static_cast<float>(
            mask[sizes_.mask_at(static_cast<Dim>(queries.first + i),
                                static_cast<Dim>(keys.first + j))]);
      };
      if (sizes_.mask_is_of_keys()) {
        const simd::Vector all = simd::broadcast(more(0));
        simd::map(scores, scores, kTile,
                  [&](simd::Vector x) { return hn::Add(x, all); });
        continue;
      }
      for (std::size_t i = 0; i < queries.count; ++i) scores[i] += more(i);
    }
  }

  void hide_masked_keys(const bool* mask, const Block& queries,
                        const Block& keys, float* tile) const {
    const auto looks = [&](std::size_t i, std::size_t j) -> const bool& {
      return mask[sizes_.mask_at(static_cast<Dim>(queries.first + i),
                                 static_cast<Dim>(keys.first + j))];
    };
    if (sizes_.mask_is_of_keys()) {
      for (std::size_t j = 0; j < keys.count; ++j) {
        if (!looks(0, j)) std::fill_n(tile + j * kTile, kTile, kHidden);
      }
      return;
    }
    // The mask has its keys side by side, the tile its queries: a query's keys
    // are bits of two words, so that a vector of words hides a key from many
    // queries.
    alignas(64) std::uint32_t seen[2][kTile] = {};
    const auto step = static_cast<std::size_t>(sizes_.mask_at(0, 1));
    std::uint64_t by_all = kAllKeys;
    for (std::size_t i = 0; i < queries.count; ++i) {
      const std::uint64_t bits = set_bits(&looks(i, 0), step, keys.count);
      seen[0][i] = static_cast<std::uint32_t>(bits);
      seen[1][i] = static_cast<std::uint32_t>(bits >> 32);
      by_all &= bits;
    }
    const hn::Rebind<std::uint32_t, simd::Floats> words;
    for (std::size_t j = 0; j < keys.count; ++j) {
      if ((by_all >> j & 1) == 1) continue;
      const auto bit = hn::Set(words, std::uint32_t{1} << (j % 32));
      for (std::size_t i = 0; i < queries.columns(); i += simd::kLanes) {
        float* scores = tile + j * kTile + i;
        const auto is_seen =
            hn::TestBit(hn::Load(words, seen[j / 32] + i), bit);
        simd::store(
            hn::IfThenElse(hn::RebindMask(simd::Floats(), is_seen),
                           simd::load(scores), simd::broadcast(kHidden)),
            scores);
      }
    }
  }

  static constexpr std::uint64_t kAllKeys = ~std::uint64_t{0};
  static_assert(kTile == 64, "a word has a bit for each key of a tile");

  // Bit j says whether seen[j * step].
  static std::uint64_t set_bits(const bool* seen, std::size_t step,
                                std::size_t count) {
    std::uint64_t bits = 0;
    std::size_t j = 0;
    if (step == 1) {
      const hn::CappedTag<std::uint8_t, 64> bytes;
      for (; j + hn::Lanes(bytes) <= count; j += hn::Lanes(bytes)) {
        const auto some =
            hn::LoadU(bytes, reinterpret_cast<const std::uint8_t*>(seen + j));
        std::uint8_t packed[8] = {};
        hn::StoreMaskBits(bytes, hn::Ne(some, hn::Zero(bytes)), packed);
        std::uint64_t word;
        std::memcpy(&word, packed, sizeof(word));
        bits |= word << j;
      }
    }
    for (; j < count; ++j) bits |= std::uint64_t{seen[j * step]} << j;
    return bits;
  }

  std::optional<std::size_t> mask_;  // which operand it is
  DType mask_dtype_;
};

// The mask comes last, and may be empty only if another operand is.
inline std::optional<std::string> declines_empty(const OpCall& call) {
  for (const TensorType& type : call.inputs) {
    if (type.shape.num_elements() == 0) return "an operand is empty";
  }
  return std::nullopt;
}

inline std::optional<std::string> declines(const OpCall& call) {
  if (call.input(0).dtype != DType::kF32) {
    return fmt::format("computes in f32, not in {}",
                       to_string(call.input(0).dtype));
  }
  return declines_empty(call);
}

}  // namespace weft::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // per target
