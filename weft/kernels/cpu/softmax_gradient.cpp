// The gradients of softmax and of its logarithm: a sum along the axis, and one
// more pass over what is then in the cache. Along another axis than the last,
// columns side by side are taken in the same way.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/softmax_gradient.cpp"
#include <algorithm>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/any_float.h"
#include "weft/kernels/cpu/float_rows.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

// dx = element(y, dy, Σ of what add() adds).
struct OfSoftmax {
  template <class V>
  static V add(V sum, V y, V dy) {
    return hn::MulAdd(y, dy, sum);
  }
  template <class V>
  static V element(V y, V dy, V sum) {
    return hn::Mul(y, hn::Sub(dy, sum));
  }
};

struct OfLogSoftmax {
  template <class V>
  static V add(V sum, V, V dy) {
    return hn::Add(sum, dy);
  }
  template <class V>
  static V element(V y, V dy, V sum) {
    return hn::NegMulAdd(simd::exp(y), sum, dy);
  }
};

template <class T, class Function>
class SoftmaxGradientKernel : public PreparedKernel {
  using Rows = FloatRows<T>;
  using A = typename Rows::A;
  using V = typename Rows::V;

 public:
  explicit SoftmaxGradientKernel(const OpCall& call)
      : cut_(call.input(0).shape, resolved_axis(call.attributes.integer("axis"),
                                                call.input(0).shape.rank())),
        rows_(call, cut_.size, 3) {}

  void run(const KernelBuffers& buffers) noexcept override {
    if (cut_.inner == 1) {
      run_rows(buffers);
    } else {
      run_columns(buffers);
    }
  }

 private:
  static constexpr std::int64_t kLeastWork = 4096;  // elements of a thread
  static constexpr std::int64_t kColumns = 64;      // that are taken at once

  struct Pointers {
    const T* y;
    const T* dy;
    T* dx;

    // They point to the elements from `first` on.
    Pointers(const KernelBuffers& buffers, std::int64_t first)
        : y(static_cast<const T*>(buffers.inputs[0]) + first),
          dy(static_cast<const T*>(buffers.inputs[1]) + first),
          dx(static_cast<T*>(buffers.outputs[0]) + first) {}
  };

  void run_rows(const KernelBuffers& buffers) const {
    const bool streams = rows_.streams(buffers);
    parallel_for(cut_.outer, 1 + kLeastWork / cut_.size,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     run_row(Pointers(buffers, row * cut_.size), streams);
                   }
                   if (streams) finish_streaming();
                 });
  }

  void run_row(const Pointers& at, bool streams) const {
    const double sum = rows_.sum_of([&](const V& so_far, std::size_t i,
                                        auto lanes) {
      return Function::add(so_far, lanes.load(at.y + i), lanes.load(at.dy + i));
    });
    const V total = Rows::all(static_cast<A>(sum));
    rows_.make_row(at.dx, streams,
                   [total, y = at.y, dy = at.dy](std::size_t i, auto lanes) {
                     return Function::element(lanes.load(y + i),
                                              lanes.load(dy + i), total);
                   });
  }

  void run_columns(const KernelBuffers& buffers) const {
    const std::int64_t blocks = (cut_.inner + kColumns - 1) / kColumns;
    const std::int64_t work = cut_.size * std::min(cut_.inner, kColumns);
    parallel_for(cut_.outer * blocks, 1 + kLeastWork / work,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t i = begin; i < end; ++i) {
                     const std::int64_t column = i % blocks * kColumns;
                     const std::int64_t first =
                         i / blocks * cut_.size * cut_.inner + column;
                     run_block(Pointers(buffers, first),
                               std::min(kColumns, cut_.inner - column));
                   }
                 });
  }

  void run_block(const Pointers& at, std::int64_t width) const {
    // A block's columns are read twice, the second time from the cache.
    alignas(64) A sums[kColumns] = {};
    const auto for_each_vector = [&](auto&& body) {
      for (std::int64_t row = 0; row < cut_.size; ++row) {
        const std::int64_t first = row * cut_.inner;
        simd::for_each_vector_of<T>(
            static_cast<std::size_t>(width),
            [&](std::size_t i, auto lanes, std::size_t) {
              body(first + static_cast<std::int64_t>(i), sums + i, lanes);
            });
      }
    };
    for_each_vector([&](std::int64_t i, A* sum, auto lanes) {
      simd::store(Function::add(simd::load(sum), lanes.load(at.y + i),
                                lanes.load(at.dy + i)),
                  sum);
    });
    // The sums are complete before anything is written, and each element is
    // read before it is: dx may lie over y or dy.
    for_each_vector([&](std::int64_t i, A* sum, auto lanes) {
      lanes.store(Function::element(lanes.load(at.y + i), lanes.load(at.dy + i),
                                    simd::load(sum)),
                  at.dx + i);
    });
  }

  AxisCut cut_;
  Rows rows_;
};

template <class T>
using SoftmaxGradient = SoftmaxGradientKernel<T, OfSoftmax>;
template <class T>
using LogSoftmaxGradient = SoftmaxGradientKernel<T, OfLogSoftmax>;

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "softmax_gradient",
               .name = "simd:softmax_gradient",
               .rank = 10,
               .declines = declines_no_float,
               .prepare = prepare_any_float<SoftmaxGradient>,
               .in_place = true});
  kernels.add({.op = "log_softmax_gradient",
               .name = "simd:log_softmax_gradient",
               .rank = 10,
               .declines = declines_no_float,
               .prepare = prepare_any_float<LogSoftmaxGradient>,
               .in_place = true});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_softmax_gradient(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
