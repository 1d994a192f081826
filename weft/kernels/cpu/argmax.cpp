// Where along an axis the extreme elements are.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/argmax.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/fold.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using namespace folds;

// The first place of the extreme element of a run, or of its first NaN, which
// Op keeps. Whole vectors find the piece that it is in; an element at a time
// would look at half of the run for the place.
template <class Op, class T>
std::int64_t place_in_run(const T* x, std::int64_t size) {
  constexpr std::int64_t kPiece = 256;
  using A = Accumulator<T>;
  A best = Op::template identity<A>;
  std::int64_t place = 0;
  for (std::int64_t begin = 0; begin < size && best == best; begin += kPiece) {
    const A most = fold_run<Op>(x + begin, std::min(kPiece, size - begin));
    if (Op::beats(most, best) || most != most) {
      best = most;
      place = begin;
    }
  }
  const auto is_best = [&](A value) {
    return best == best ? value == best : value != value;
  };
  while (!is_best(widen(x[place]))) ++place;
  return place;
}

// The same down each of `width` columns.
template <class Op, class T>
void places_in_columns(const T* x, std::int64_t rows, std::int64_t stride,
                       std::int64_t width, std::int64_t* y) {
  using A = Accumulator<T>;
  A best[kWidth];
  std::fill_n(best, width, Op::template identity<A>);
  std::fill_n(y, width, 0);
  for (std::int64_t row = 0; row < rows; ++row, x += stride) {
    for (std::int64_t i = 0; i < width; ++i) {
      const A value = widen(x[i]);
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
  kernels.add({"argmax", "cpu:fold", 10, declines, prepare<Max>});
  kernels.add({"argmin", "cpu:fold", 10, declines, prepare<Min>});
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
