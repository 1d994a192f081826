// Non-maximum suppression, a set of boxes on each thread.
#include <optional>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/ops/support/suppression.h"

namespace weft {
namespace {

template <class T>
std::unique_ptr<PreparedKernel> make_nms(const OpCall& call) {
  const std::int64_t sets = call.outputs[1].shape.num_elements();
  const std::int64_t n = call.input(1).shape.back();
  const std::int64_t most = call.attributes.integer("most");
  const double threshold = call.attributes.real("threshold");
  // A thread takes at least so many boxes.
  const std::int64_t grain = 1 + 256 / (n + 1);
  return make_kernel(
      [=](const KernelBuffers& buffers) {
        parallel_for(sets, grain, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t set = begin; set < end; ++set) {
            output_of<std::int64_t>(buffers, 1)[set] =
                suppress(input_of<T>(buffers, 0) + 4 * set * n,
                         input_of<T>(buffers, 1) + set * n, n, threshold, most,
                         static_cast<std::int64_t*>(buffers.scratch) + set * n,
                         output_of<std::int64_t>(buffers, 0) + set * most);
          }
        });
      },
      static_cast<std::size_t>(sets * n) * sizeof(std::int64_t));
}

std::optional<std::string> nms_declines(const OpCall& call) {
  const DType dtype = call.input(0).dtype;
  if (dtype == DType::kF32 || dtype == DType::kF64) return std::nullopt;
  return fmt::format("takes f32 and f64, not {}", to_string(dtype));
}

std::unique_ptr<PreparedKernel> prepare_nms(const OpCall& call) {
  if (call.input(0).dtype == DType::kF64) return make_nms<double>(call);
  return make_nms<float>(call);
}

}  // namespace

void register_cpu_nms(KernelRegistry& kernels) {
  kernels.add({.op = "nms",
               .name = "cpu:nms",
               .rank = 10,
               .declines = nms_declines,
               .prepare = prepare_nms});
}

}  // namespace weft
