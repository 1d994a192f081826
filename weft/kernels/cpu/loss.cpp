// Cross entropy: two passes over a row that stays in L2 give log sum exp, and
// everything else follows from it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/loss.cpp"
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/f32_or_bf16.h"
#include "weft/kernels/cpu/row_sums.h"
#include "weft/kernels/simd/targets.h"
#include "weft/ops/support/indexing.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

using simd::broadcast;
using simd::Vector;

constexpr std::int64_t kLeastWork = 4096;  // elements of a thread

class RowKernel : public PreparedKernel {
 protected:
  explicit RowKernel(const OpCall& call)
      : classes_(static_cast<std::size_t>(call.input(0).shape.back())),
        rows_(call.input(0).shape.num_elements() / call.input(0).shape.back()) {
  }

  // Calls body(begin, end) for ranges of rows, in parallel.
  template <class Body>
  void for_each_row(Body&& body) const {
    const auto grain = 1 + kLeastWork / static_cast<std::int64_t>(classes_);
    parallel_for(rows_, grain, [&](std::int64_t begin, std::int64_t end) {
      body(static_cast<std::size_t>(begin), static_cast<std::size_t>(end));
    });
  }

  std::size_t classes_;
  std::int64_t rows_;
};

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
    for_each_row([&](std::size_t begin, std::size_t end) {
      if (classes_ <= simd::kLanes) {
        for (std::size_t row = begin; row < end; row += kColumns) {
          short_rows(buffers, row, std::min(kColumns, end - row));
        }
      } else {
        for (std::size_t row = begin; row < end; ++row) {
          put(buffers, row, row_sum(logits(buffers, row), classes_));
        }
      }
    });
  }

 private:
  const T* logits(const KernelBuffers& buffers, std::size_t row) const {
    return static_cast<const T*>(buffers.inputs[0]) + row * classes_;
  }

  void short_rows(const KernelBuffers& buffers, std::size_t row,
                  std::size_t rows) const {
    const TurnedRows<T> turned(logits(buffers, row), rows, classes_);
    const ColumnSums sums(turned.data, classes_, kColumns, rows);
    for (std::size_t i = 0; i < rows; ++i) {
      put(buffers, row + i, {sums.largest[i], sums.sum[i]});
    }
  }

  void put(const KernelBuffers& buffers, std::size_t row,
           const RowSum& total) const {
    const std::size_t label = labels_.at(buffers.inputs[1], row);
    const auto own = static_cast<float>(logits(buffers, row)[label]);
    const float log_sum = std::log(total.sum);
    // Not log sum exp less the own logit: where both are large, rounding would
    // take the digits of a small loss.
    static_cast<float*>(buffers.outputs[0])[row] =
        log_sum + (total.largest - own);
    // Log sum exp is a result of the op, too: the gradient would need two
    // passes to compute it again.
    static_cast<float*>(buffers.outputs[1])[row] = total.largest + log_sum;
  }

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
    for_each_row([&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
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
      }
    });
  }

 private:
  Labels labels_;
};

void add_kernels(KernelRegistry& kernels) {
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
