// Softmax and its logarithm: two passes over a row that stays in L2 give its
// sum, and one more the result. Along another axis than the last, the same is
// done with columns that lie side by side.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/softmax.cpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/f32_or_bf16.h"
#include "weft/kernels/cpu/row_sums.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using simd::broadcast;
using simd::Vector;

// y = exp(x - largest), and their sum.
template <class T>
float exponentials(const T* x, float* y, std::size_t size) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const Vector shift = broadcast(largest_of(x, size));
  const auto power = [&](Vector v) {
    return simd::exp_of_negative(simd::hn::Sub(v, shift));
  };
  // Two chains halve the error of a long row's sum, which grows with them.
  Vector even = broadcast(0.f);
  Vector odd = even;
  const auto add = [&](Vector& sum, std::size_t i) {
    const Vector v = power(simd::load(x + i));
    simd::store(v, y + i);
    sum = simd::hn::Add(sum, v);
  };
  std::size_t i = 0;
  for (; i + 2 * simd::kLanes <= size; i += 2 * simd::kLanes) {
    add(even, i);
    add(odd, i + simd::kLanes);
  }
  if (i + simd::kLanes <= size) {
    add(even, i);
    i += simd::kLanes;
  }
  if (i < size) {
    const Vector v = power(simd::load_part(x + i, size - i, kLowest));
    simd::store_part(v, y + i, size - i);
    odd = simd::hn::Add(odd, v);
  }
  return simd::sum_lanes(simd::hn::Add(even, odd));
}

constexpr std::int64_t kLeastWork = 4096;  // elements of a thread

// A function of an element and the sums along its axis: Function has `row` for
// elements that lie dense, `finish` and `element` for columns.
template <class T, class Function>
class AxisKernel : public PreparedKernel {
 public:
  explicit AxisKernel(const OpCall& call)
      : cut_(call.input(0).shape, resolved_axis(call.attributes.integer("axis"),
                                                call.input(0).shape.rank())),
        size_(static_cast<std::size_t>(cut_.size)),
        stride_(static_cast<std::size_t>(cut_.inner)) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    T* y = static_cast<T*>(buffers.outputs[0]);
    if (stride_ > 1) {
      in_blocks(stride_, kColumns, [&](std::size_t block, std::size_t column) {
        const std::size_t place = block * size_ * stride_ + column;
        run_columns(x + place, y + place, stride_,
                    std::min(kColumns, stride_ - column));
      });
    } else if (size_ <= simd::kLanes) {
      const auto rows = static_cast<std::size_t>(cut_.outer);
      in_blocks(rows, kColumns, [&](std::size_t, std::size_t row) {
        turn_rows(x + row * size_, y + row * size_,
                  std::min(kColumns, rows - row));
      });
    } else {
      in_blocks(1, 1, [&](std::size_t row, std::size_t) {
        Function::row(x + row * size_, y + row * size_, size_);
      });
    }
  }

 private:
  // The rows along the axis are `count` by `count` in one matrix, which is cut
  // into blocks of at most `most`: calls body(which matrix, first row) for each
  // block. A thread is given kLeastWork elements at least: fewer are not worth
  // waking it.
  template <class Body>
  void in_blocks(std::size_t count, std::size_t most, Body&& body) const {
    const std::size_t blocks = (count + most - 1) / most;
    const std::int64_t rows = cut_.outer * cut_.inner;
    const auto work = static_cast<std::int64_t>(size_ * std::min(count, most));
    parallel_for(rows / static_cast<std::int64_t>(count) *
                     static_cast<std::int64_t>(blocks),
                 1 + kLeastWork / work,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto i = static_cast<std::size_t>(begin);
                        i < static_cast<std::size_t>(end); ++i) {
                     body(i / blocks, i % blocks * most);
                   }
                 });
  }

  void run_columns(const T* x, T* y, std::size_t stride,
                   std::size_t width) const {
    const ColumnSums sums =
        Function::finish(ColumnSums(x, size_, stride, width));
    for (std::size_t row = 0; row < size_; ++row) {
      T* to = y + row * stride;
      for_each_vector(x + row * stride, width, [&](std::size_t i, Vector v) {
        const Vector result = Function::element(v, simd::load(sums.largest + i),
                                                simd::load(sums.sum + i));
        // What lies behind the last, partial vector belongs to another block.
        if (i + simd::kLanes <= width) {
          simd::store(result, to + i);
        } else {
          simd::store_part(result, to + i, width - i);
        }
      });
    }
  }

  // Rows that would not fill a vector become columns, and rows again.
  void turn_rows(const T* x, T* y, std::size_t rows) const {
    TurnedRows<T> turned(x, rows, size_);
    run_columns(turned.data, turned.data, kColumns, rows);
    turned.put(y, rows, size_);
  }

  AxisCut cut_;
  std::size_t size_;
  std::size_t stride_;
};

// Not exp(v - log sum exp): beside a large element, rounding would take what
// the others add to the sum.
struct SoftmaxFunction {
  static Vector element(Vector v, Vector largest, Vector sum) {
    return simd::hn::Div(simd::exp_of_negative(simd::hn::Sub(v, largest)), sum);
  }
  static ColumnSums finish(const ColumnSums& sums) { return sums; }
  // Where y has the digits for it, exponentials wait there for their sum.
  static void row(const float* x, float* y, std::size_t size) {
    scale(y, y, size, exponentials(x, y, size));
  }
  static void row(const bfloat16* x, bfloat16* y, std::size_t size) {
    // These take 16 KiB, half of a first-level cache.
    constexpr std::size_t kHeld = 4096;  // on the stack
    // Longer rows would need memory of the heap: they compute exponentials
    // twice instead.
    if (size <= kHeld) {
      std::array<float, kHeld> powers;
      const float sum = exponentials(x, powers.data(), size);
      return scale(powers.data(), y, size, sum);
    }
    const RowSum total = row_sum(x, size);
    const Vector largest = broadcast(total.largest);
    const Vector sum = broadcast(total.sum);
    simd::map(x, y, size, [&](Vector v) { return element(v, largest, sum); });
  }
  template <class T>
  static void scale(const float* powers, T* y, std::size_t size, float sum) {
    // One division and many products take less than many divisions.
    const Vector share = broadcast(1.f / sum);
    simd::map(powers, y, size,
              [&](Vector v) { return simd::hn::Mul(v, share); });
  }
};

// Not v - log sum exp: beside a large element, rounding would take digits of
// the logarithm. It is taken once, into the place of the sum.
struct LogSoftmaxFunction {
  static Vector element(Vector v, Vector largest, Vector log_sum) {
    return simd::hn::Sub(simd::hn::Sub(v, largest), log_sum);
  }
  static ColumnSums finish(ColumnSums sums) {
    for (float& sum : sums.sum) sum = std::log(sum);
    return sums;
  }
  template <class T>
  static void row(const T* x, T* y, std::size_t size) {
    const RowSum total = row_sum(x, size);
    const Vector largest = broadcast(total.largest);
    const Vector log_sum = broadcast(std::log(total.sum));
    simd::map(x, y, size,
              [&](Vector v) { return element(v, largest, log_sum); });
  }
};

template <class T>
using Softmax = AxisKernel<T, SoftmaxFunction>;
template <class T>
using LogSoftmax = AxisKernel<T, LogSoftmaxFunction>;

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "softmax",
               .name = "simd:softmax",
               .rank = 10,
               .declines = declines_f32_or_bf16,
               .prepare = prepare_f32_or_bf16<Softmax>,
               .in_place = true});
  kernels.add({.op = "log_softmax",
               .name = "simd:log_softmax",
               .rank = 10,
               .declines = declines_f32_or_bf16,
               .prepare = prepare_f32_or_bf16<LogSoftmax>,
               .in_place = true});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_softmax(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
