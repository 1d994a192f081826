// Attention whose heads lie in columns, which are read and written where they
// are (attention_blocks.h).
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/multi_head_attention.cpp"
#include <hwy/foreach_target.h>

#include "weft/kernels/cpu/attention_blocks.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace attention;  // NOLINT: this file's own support

void add_kernels(KernelRegistry& kernels) {
  kernels.add(
      {.op = "multi_head_attention",
       .name = "simd:multi_head_attention",
       .rank = 10,
       .declines = declines,
       .prepare = [](const OpCall& call) -> std::unique_ptr<PreparedKernel> {
         return std::make_unique<Attention>(
             call, AttentionPlaces(call, HeadSizes(call)));
       }});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_multi_head_attention(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
