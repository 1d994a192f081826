// Softmax, log-softmax and cross entropy: two passes over a row that stays in
// L2 give log sum exp; everything else follows from it in one more. Along
// another axis than the last, columns side by side are taken in the same way.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/loss.cpp"
#include <algorithm>
#include <array>
#include <cmath>
#include <hwy/foreach_target.h>
#include <limits>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/f32_or_bf16.h"
#include "weft/kernels/simd/functions.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/indexing.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using simd::broadcast;
using simd::Vector;

// A row's largest element, and the sum of exp(x - largest). A NaN may miss the
// first, but not the second.
struct RowSum {
  float largest;
  float sum;
};

template <class T>
float largest_of(const T* row, std::size_t classes) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  return simd::max_lanes(simd::reduce(
      row, classes, kLowest, kLowest,
      [](Vector best, Vector x) { return simd::hn::Max(best, x); },
      [](Vector a, Vector b) { return simd::hn::Max(a, b); }));
}

template <class T>
RowSum row_sum(const T* row, std::size_t classes) {
  constexpr float kLowest = -std::numeric_limits<float>::infinity();
  const float largest = largest_of(row, classes);
  // Shifted by the largest, no exponent is above 0: the sum lies between 1 and
  // the number of classes, and cannot overflow.
  const Vector shift = broadcast(largest);
  const float sum = simd::sum_lanes(simd::reduce(
      // Lanes beyond the row are filled with minus infinity, whose exp adds
      // nothing.
      row, classes, 0.f, kLowest,
      [&](Vector total, Vector x) {
        return simd::hn::Add(total,
                             simd::exp_of_negative(simd::hn::Sub(x, shift)));
      },
      [](Vector a, Vector b) { return simd::hn::Add(a, b); }));
  return {largest, sum};
}

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

template <class T>
float log_sum_exp(const T* row, std::size_t classes) {
  const auto [largest, sum] = row_sum(row, classes);
  // The shift is taken back here: log sum exp(x) = m + log sum exp(x - m).
  return largest + std::log(sum);
}

// Columns that are taken at once.
constexpr std::size_t kColumns = 64;

// Calls body(i, vector) for the elements of a row from i on; what a vector has
// beyond the end of the row is 0.
template <class T, class Body>
void for_each_vector(const T* row, std::size_t width, Body&& body) {
  std::size_t i = 0;
  for (; i + simd::kLanes <= width; i += simd::kLanes) {
    body(i, simd::load(row + i));
  }
  if (i < width) body(i, simd::load_part(row + i, width - i, 0.f));
}

// What RowSum is of a row, of each column of some rows `stride` apart.
struct ColumnSums {
  float largest[kColumns];
  float sum[kColumns];

  template <class T>
  ColumnSums(const T* x, std::size_t rows, std::size_t stride,
             std::size_t width) {
    std::fill_n(largest, kColumns, -std::numeric_limits<float>::infinity());
    std::fill_n(sum, kColumns, 0.f);
    for (std::size_t row = 0; row < rows; ++row) {
      for_each_vector(x + row * stride, width, [&](std::size_t i, Vector v) {
        simd::store(simd::hn::Max(simd::load(largest + i), v), largest + i);
      });
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for_each_vector(x + row * stride, width, [&](std::size_t i, Vector v) {
        const Vector power =
            simd::exp_of_negative(simd::hn::Sub(v, simd::load(largest + i)));
        simd::store(simd::hn::Add(simd::load(sum + i), power), sum + i);
      });
    }
  }
};

constexpr std::int64_t kLeastWork = 4096;  // elements of a thread

class RowKernel : public PreparedKernel {
 protected:
  explicit RowKernel(const OpCall& call)
      : classes_(static_cast<std::size_t>(call.input(0).shape.back())),
        rows_(call.input(0).shape.num_elements() / call.input(0).shape.back()) {
  }

  // Calls body(row) in parallel.
  template <class Body>
  void for_each_row(Body&& body) const {
    const auto grain = 1 + kLeastWork / static_cast<std::int64_t>(classes_);
    parallel_for(rows_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        body(static_cast<std::size_t>(row));
      }
    });
  }

  std::size_t classes_;
  std::int64_t rows_;
};

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
    const std::size_t blocks = (stride_ + kColumns - 1) / kColumns;
    // A thread is given kLeastWork elements at least: fewer are not worth
    // waking it.
    const auto work =
        static_cast<std::int64_t>(size_ * std::min(stride_, kColumns));
    parallel_for(
        cut_.outer * static_cast<std::int64_t>(blocks), 1 + kLeastWork / work,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) {
            const auto block = static_cast<std::size_t>(i);
            const std::size_t column = block % blocks * kColumns;
            const std::size_t place = block / blocks * size_ * stride_ + column;
            run_block(x + place, y + place,
                      std::min(kColumns, stride_ - column));
          }
        });
  }

 private:
  void run_block(const T* x, T* y, std::size_t width) const {
    if (stride_ == 1) return Function::row(x, y, size_);
    const ColumnSums sums =
        Function::finish(ColumnSums(x, size_, stride_, width));
    for (std::size_t row = 0; row < size_; ++row) {
      T* to = y + row * stride_;
      for_each_vector(x + row * stride_, width, [&](std::size_t i, Vector v) {
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

// The logarithm of the sum is taken once, into the place of the largest.
struct LogSoftmaxFunction {
  static Vector element(Vector v, Vector lse, Vector) {
    return simd::hn::Sub(v, lse);
  }
  static ColumnSums finish(ColumnSums sums) {
    for (std::size_t i = 0; i < kColumns; ++i) {
      sums.largest[i] += std::log(sums.sum[i]);
    }
    return sums;
  }
  template <class T>
  static void row(const T* x, T* y, std::size_t size) {
    const Vector lse = broadcast(log_sum_exp(x, size));
    simd::map(x, y, size, [&](Vector v) { return element(v, lse, lse); });
  }
};

template <class T>
using Softmax = AxisKernel<T, SoftmaxFunction>;
template <class T>
using LogSoftmax = AxisKernel<T, LogSoftmaxFunction>;

// Reads labels of either width.
class Labels {
 public:
  Labels(const OpCall& call)
      : is_wide_(call.input(1).dtype == DType::kI64),
        classes_(call.input(0).shape.back()) {}

  std::size_t at(const void* labels, std::size_t row) const {
    const std::int64_t label =
        is_wide_ ? static_cast<const std::int64_t*>(labels)[row]
                 : static_cast<const std::int32_t*>(labels)[row];
    return static_cast<std::size_t>(class_of(label, classes_));
  }

 private:
  bool is_wide_;
  std::int64_t classes_;
};

template <class T>
class CrossEntropy : public RowKernel {
 public:
  explicit CrossEntropy(const OpCall& call) : RowKernel(call), labels_(call) {}

  void run(const KernelBuffers& buffers) noexcept override {
    auto* loss = static_cast<float*>(buffers.outputs[0]);
    auto* lse = static_cast<float*>(buffers.outputs[1]);
    for_each_row([&](std::size_t row) {
      const T* x = static_cast<const T*>(buffers.inputs[0]) + row * classes_;
      // It is a result of the op, too: the gradient would need two passes to
      // compute it again.
      lse[row] = log_sum_exp(x, classes_);
      loss[row] =
          lse[row] - static_cast<float>(x[labels_.at(buffers.inputs[1], row)]);
    });
  }

 private:
  Labels labels_;
};

template <class T>
class CrossEntropyGradient : public RowKernel {
 public:
  explicit CrossEntropyGradient(const OpCall& call)
      : RowKernel(call), labels_(call) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const auto* all_lse = static_cast<const float*>(buffers.inputs[2]);
    const auto* dy = static_cast<const float*>(buffers.inputs[3]);
    for_each_row([&](std::size_t row) {
      const T* x = static_cast<const T*>(buffers.inputs[0]) + row * classes_;
      T* dx = static_cast<T*>(buffers.outputs[0]) + row * classes_;
      const std::size_t label = labels_.at(buffers.inputs[1], row);
      // It is read before dx is written, which may lie over x.
      const float p = std::exp(static_cast<float>(x[label]) - all_lse[row]);
      // The forward op kept log sum exp, so that softmax is one pass here and
      // not three.
      const Vector lse = broadcast(all_lse[row]);
      const Vector scale = broadcast(dy[row]);
      simd::map(x, dx, classes_, [&](Vector v) {
        return simd::hn::Mul(scale,
                             simd::exp_of_negative(simd::hn::Sub(v, lse)));
      });
      // The gradient is (softmax - one hot) dy. The label's own is computed
      // apart, since subtracting 1 from what was rounded to T would lose
      // digits.
      dx[label] = T((p - 1.f) * dy[row]);
    });
  }

 private:
  Labels labels_;
};

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
  kernels.add({.op = "cross_entropy",
               .name = "simd:cross_entropy",
               .rank = 10,
               .declines = declines_f32_or_bf16,
               .prepare = prepare_f32_or_bf16<CrossEntropy>});
  kernels.add({.op = "cross_entropy_gradient",
               .name = "simd:cross_entropy_gradient",
               .rank = 10,
               .declines = declines_f32_or_bf16,
               .prepare = prepare_f32_or_bf16<CrossEntropyGradient>,
               .in_place = true});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_loss(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
