// Logic of bools, byte by byte: a loop computes in f32, which is four times as
// wide, and pays only where logic is fused with ops of numbers.
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"

namespace weft {
namespace {

constexpr std::int64_t kBytesPerThread = 64 << 10;

std::optional<std::string> declines(const OpCall& call) {
  for (const TensorType& input : call.inputs) {
    if (input.dtype != DType::kBool) return "operands are not bools";
    if (input.shape != call.outputs[0].shape) return "an operand is repeated";
  }
  return std::nullopt;
}

// The result may be written over operand a, byte by byte: `simd` says that this
// is no overlap.
template <class Function>
void map_bytes(const std::uint8_t* a, const std::uint8_t* b, std::uint8_t* y,
               std::int64_t size, Function function) {
#pragma omp simd
  for (std::int64_t i = 0; i < size; ++i) {
    y[i] = static_cast<std::uint8_t>(function(a[i], b[i]));
  }
}

// `function` takes bytes that are 0 or 1, and returns such.
template <class Function>
std::unique_ptr<PreparedKernel> make_logic(const OpCall& call,
                                           Function function) {
  const std::int64_t size = call.outputs[0].shape.num_elements();
  const std::size_t second = call.inputs.size() - 1;
  return make_kernel([=](const KernelBuffers& buffers) {
    const auto* a = input_of<std::uint8_t>(buffers, 0);
    const auto* b = input_of<std::uint8_t>(buffers, second);
    auto* y = output_of<std::uint8_t>(buffers, 0);
    parallel_for(
        size, kBytesPerThread, [&](std::int64_t begin, std::int64_t end) {
          map_bytes(a + begin, b + begin, y + begin, end - begin, function);
        });
  });
}

std::unique_ptr<PreparedKernel> prepare_and(const OpCall& call) {
  return make_logic(call, [](int a, int b) { return a & b; });
}
std::unique_ptr<PreparedKernel> prepare_or(const OpCall& call) {
  return make_logic(call, [](int a, int b) { return a | b; });
}
std::unique_ptr<PreparedKernel> prepare_xor(const OpCall& call) {
  return make_logic(call, [](int a, int b) { return a ^ b; });
}
std::unique_ptr<PreparedKernel> prepare_not(const OpCall& call) {
  return make_logic(call, [](int a, int) { return a ^ 1; });
}

}  // namespace

void register_cpu_bool_logic(KernelRegistry& kernels) {
  kernels.add({"logical_and", "cpu:bytes", 20, declines, prepare_and, true});
  kernels.add({"logical_or", "cpu:bytes", 20, declines, prepare_or, true});
  kernels.add({"logical_xor", "cpu:bytes", 20, declines, prepare_xor, true});
  kernels.add({"logical_not", "cpu:bytes", 20, declines, prepare_not, true});
}

}  // namespace weft
