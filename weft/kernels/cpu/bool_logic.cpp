// Logic of bools, byte by byte: a loop computes in f32, which is four times as
// wide, and pays only where logic is fused with ops of numbers.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/bool_logic.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/loop/map_tile.h"
#include "weft/kernels/simd/streaming.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr std::int64_t kBytesPerThread = 64 << 10;

std::optional<std::string> declines(const OpCall& call) {
  for (const TensorType& input : call.inputs) {
    if (input.dtype != DType::kBool) return "operands are not bools";
    if (input.shape != call.outputs[0].shape) return "an operand is repeated";
  }
  return std::nullopt;
}

// `function` takes vectors of bytes that are 0 or 1, and returns such. The
// result may be written over an operand.
template <int kArity, class Function>
std::unique_ptr<PreparedKernel> make_logic(const OpCall& call,
                                           Function function) {
  const std::int64_t size = call.outputs[0].shape.num_elements();
  const bool is_large =
      static_cast<std::uint64_t>((kArity + 1) * size) >= least_streamed_bytes();
  return make_kernel([=](const KernelBuffers& buffers) {
    const auto* a = input_of<std::uint8_t>(buffers, 0);
    const auto* b = input_of<std::uint8_t>(buffers, kArity - 1);
    auto* y = output_of<std::byte>(buffers, 0);
    const bool streams =
        is_large && buffers.inputs[0] != y && buffers.inputs[kArity - 1] != y;
    parallel_for(
        size, kBytesPerThread, [&](std::int64_t begin, std::int64_t end) {
          make_results(y + begin, end - begin, 1, streams,
                       [&](std::int64_t at, std::int64_t count, std::byte* to) {
                         map_tile<std::uint8_t, kArity>(
                             {{a + begin + at, b + begin + at}, to, count, {}},
                             function);
                       });
        });
  });
}

std::unique_ptr<PreparedKernel> prepare_and(const OpCall& call) {
  return make_logic<2>(call, [](auto a, auto b) { return hn::And(a, b); });
}
std::unique_ptr<PreparedKernel> prepare_or(const OpCall& call) {
  return make_logic<2>(call, [](auto a, auto b) { return hn::Or(a, b); });
}
std::unique_ptr<PreparedKernel> prepare_xor(const OpCall& call) {
  return make_logic<2>(call, [](auto a, auto b) { return hn::Xor(a, b); });
}
std::unique_ptr<PreparedKernel> prepare_not(const OpCall& call) {
  return make_logic<1>(call, [](auto a) {
    const hn::ScalableTag<std::uint8_t> bytes;
    // Bools are 0 or 1, and must stay so: turning all bits would make 255 or
    // 254.
    return hn::Xor(a, hn::Set(bytes, std::uint8_t{1}));
  });
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({"logical_and", "cpu:bytes", 20, declines, prepare_and, true});
  kernels.add({"logical_or", "cpu:bytes", 20, declines, prepare_or, true});
  kernels.add({"logical_xor", "cpu:bytes", 20, declines, prepare_xor, true});
  kernels.add({"logical_not", "cpu:bytes", 20, declines, prepare_not, true});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_bool_logic(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
