// What attention of bf16 and its gradient share: widths of whole tiles, and the
// scores of a tile by products of bf16.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_ATTENTION_BF16_KERNEL_H_) == \
    defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_ATTENTION_BF16_KERNEL_H_
#undef WEFT_KERNELS_CPU_ATTENTION_BF16_KERNEL_H_
#else
#define WEFT_KERNELS_CPU_ATTENTION_BF16_KERNEL_H_
#endif

#include <algorithm>

#include "weft/kernels/cpu/attention_tiles.h"
#include "weft/kernels/simd/bf16_operands.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE::attention {

class Bf16AttentionKernel : public AttentionKernel {
 public:
  std::string implementation() const override {
    return std::string(machine().name);
  }

 protected:
  Bf16AttentionKernel(const OpCall& call, const AttentionSizes& sizes,
                      std::size_t mask)
      : AttentionKernel(call, sizes, mask),
        wide_(rounded_up(width_, kBf16Depth)),
        values_wide_(rounded_up(value_width_, kBf16Depth)) {}

  static const Bf16Machine& machine() { return *bf16_machine(); }

  // The rows of a block in operand `input`.
  static Bf16Rows rows_of(const KernelBuffers& buffers, std::size_t input,
                          const HeadRows& rows, std::size_t stack,
                          const Block& block, std::size_t width) {
    return {static_cast<const bfloat16*>(buffers.inputs[input]) +
                rows.begin(stack) + block.first * rows.row_step,
            rows.row_step, block.count, width};
  }

  // tile [keys][kTile] = keys queriesᵀ. Returns the positive number that it is
  // to be multiplied by: where keys are hidden, that has been done, as they
  // stay so.
  float score(const KernelBuffers& buffers, std::size_t stack,
              const Block& queries, const Block& keys,
              const Bf16Products& multiply, const bfloat16* packed_keys,
              const Bf16Pair* packed_queries, float* tile) const {
    const std::size_t columns = rounded_up(queries.count, kBf16Side);
    multiply({rounded_up(keys.count, kBf16Side), columns, wide_, packed_keys,
              wide_, packed_queries, kTile, tile, kTile});
    const auto scale = static_cast<float>(sizes_.scale);
    if (!hides(queries, keys) && scale > 0) return scale;
    simd::map(tile, tile, keys.count * kTile, [&](simd::Vector x) {
      return hn::Mul(x, simd::broadcast(scale));
    });
    hide(buffers, stack, queries, keys, tile);
    return 1;
  }

  // Rows that only fill up a product.
  static void clear_rows(float* tile, std::size_t begin, std::size_t end) {
    std::fill_n(tile + begin * kTile, (end - begin) * kTile, 0.f);
  }

  std::size_t wide_, values_wide_;  // widths of whole tiles
};

inline std::optional<std::string> declines_but_bf16(const OpCall& call) {
  if (call.input(0).dtype != DType::kBF16) {
    return fmt::format("multiplies bf16, not {}",
                       to_string(call.input(0).dtype));
  }
  if (bf16_machine() == nullptr) return "this machine does not multiply bf16";
  return declines_empty(call);
}

}  // namespace weft::HWY_NAMESPACE::attention
HWY_AFTER_NAMESPACE();

#endif  // per target
