// Where along an axis the extreme elements are.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/argmax.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/fold.h"
#include "weft/kernels/simd/folder.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace folds;

constexpr std::int64_t kWidth = 512;  // columns of a task
constexpr std::int64_t kTaskSize = 16 << 10;

// What place_in_run() finds, down each of `width` columns.
template <class Op, class T>
void places_in_columns(const T* x, std::int64_t rows, std::int64_t stride,
                       std::int64_t width, std::int64_t* y) {
  using A = Accumulator<T>;
  // The best numbers so far stay in the first-level cache while rows stream by.
  A best[kWidth];
  std::fill_n(best, width, Op::template identity<A>);
  std::fill_n(y, width, 0);
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    for (std::int64_t i = 0; i < width; ++i) {
      const A value = widen(x[i]);
      // No branch is taken, so that the compiler makes vectors of it. The first
      // NaN wins, and nothing after it.
      const bool wins =
          Op::beats(value, best[i]) | ((value != value) & (best[i] == best[i]));
      y[i] = wins ? row : y[i];
      best[i] = wins ? value : best[i];
    }
  }
}

template <class Op>
std::unique_ptr<PreparedKernel> prepare(const OpCall& call) {
  const Shape& shape = call.input(0).shape;
  const AxisCut cut(
      shape, resolved_axis(call.attributes.integer("axis"), shape.rank()));
  return for_type(call.input(0).dtype, [&]<class T>(T) {
    return make_kernel([cut](const KernelBuffers& buffers) {
      const T* x = input_of<T>(buffers, 0);
      auto* y = output_of<std::int64_t>(buffers, 0);
      const std::int64_t blocks = (cut.inner + kWidth - 1) / kWidth;
      const std::int64_t work =
          std::max<std::int64_t>(1, cut.size * std::min(cut.inner, kWidth));
      parallel_for(
          cut.outer * blocks, std::max<std::int64_t>(1, kTaskSize / work),
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t task = begin; task < end; ++task) {
              const std::int64_t outer = task / blocks;
              const std::int64_t column = task % blocks * kWidth;
              const T* from = x + outer * cut.size * cut.inner + column;
              std::int64_t* to = y + outer * cut.inner + column;
              if (cut.inner == 1) {
                *to = place_in_run<Op>(from, cut.size);
              } else {
                places_in_columns<Op>(from, cut.size, cut.inner,
                                      std::min(kWidth, cut.inner - column), to);
              }
            }
          });
    });
  });
}

void add_kernels(KernelRegistry& kernels) {
  kernels.add({"argmax", "cpu:fold", 10, declines_fold, prepare<Max>});
  kernels.add({"argmin", "cpu:fold", 10, declines_fold, prepare<Min>});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_argmax(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
