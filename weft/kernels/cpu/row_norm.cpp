// Layer and RMS normalisation and their gradients. Sums over all rows are taken
// in parts that depend on the shape alone, so that any number of threads gives
// the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/row_norm.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/any_float.h"
#include "weft/kernels/cpu/float_rows.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

namespace hn = simd::hn;

// What both directions share: T is the element of rows; scale, shift and sums
// are of A.
template <class T, bool kIsCentred>
class RowNormKernel : public PreparedKernel {
 protected:
  using Rows = FloatRows<T>;
  using A = typename Rows::A;
  using V = typename Rows::V;
  using Sum = typename Rows::Sum;

  RowNormKernel(const OpCall& call, std::uint64_t moved)
      : rows_(call, call.input(0).shape.back(), moved),
        epsilon_(static_cast<A>(call.attributes.real("epsilon"))) {}

  // The mean of a row, 0 where none is taken off.
  A centre_of(const T* x) const {
    if constexpr (!kIsCentred) return 0;
    return rows_.mean_of(
        rows_.sum_of([&](const V& sum, std::size_t i, auto lanes) {
          return hn::Add(sum, lanes.load(x + i));
        }));
  }

  A factor_of(double squares) const {
    return 1 / std::sqrt(rows_.mean_of(squares) + epsilon_);
  }

  Rows rows_;
  A epsilon_;
};

template <class T, bool kIsCentred>
class RowNorm : public RowNormKernel<T, kIsCentred> {
  using Base = RowNormKernel<T, kIsCentred>;
  using Base::rows_;
  using typename Base::A, typename Base::Sum, typename Base::V;

 public:
  explicit RowNorm(const OpCall& call) : Base(call, 2) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const auto width = static_cast<std::int64_t>(rows_.width());
    const bool streams = rows_.streams(buffers);
    parallel_for(static_cast<std::int64_t>(rows_.count()),
                 1 + kLeastWork / width,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t row = begin; row < end; ++row) {
                     normalise(buffers, row * width, streams);
                   }
                   if (streams) finish_streaming();
                 });
  }

 private:
  static constexpr std::int64_t kLeastWork = 4096;  // elements of a thread

  // The row that begins at element `place`.
  void normalise(const KernelBuffers& buffers, std::int64_t place,
                 bool streams) const {
    const T* x = static_cast<const T*>(buffers.inputs[0]) + place;
    const A* scale = static_cast<const A*>(buffers.inputs[1]);
    const A* shift =
        kIsCentred ? static_cast<const A*>(buffers.inputs[2]) : nullptr;
    const V centre = rows_.all(this->centre_of(x));
    const double squares =
        rows_.sum_of([&](const V& sum, std::size_t i, auto lanes) {
          // Behind the row's end x is loaded as 0, but x - mean is not 0:
          // keep() takes those lanes out of the sum.
          const V c = lanes.keep(hn::Sub(lanes.load(x + i), centre));
          return hn::MulAdd(c, c, sum);
        });
    const V factor = rows_.all(this->factor_of(squares));
    T* y = static_cast<T*>(buffers.outputs[0]) + place;
    // The deviations are computed again rather than kept: x lies in the cache,
    // and a row of them might not fit beside it.
    rows_.make_row(y, streams, [=](std::size_t i, auto lanes) {
      const V h = hn::Mul(hn::Sub(lanes.load(x + i), centre), factor);
      if constexpr (!kIsCentred) return hn::Mul(h, lanes.load(scale + i));
      return hn::MulAdd(h, lanes.load(scale + i), lanes.load(shift + i));
    });
  }
};

template <class T, bool kIsCentred>
class RowNormGradient : public RowNormKernel<T, kIsCentred> {
  using Base = RowNormKernel<T, kIsCentred>;
  using Base::rows_;
  using typename Base::A, typename Base::Sum, typename Base::V;

 public:
  explicit RowNormGradient(const OpCall& call)
      : Base(call, 3),
        part_rows_(std::max(kLeastRows,
                            (rows_.count() + kMostParts - 1) / kMostParts)),
        parts_((rows_.count() + part_rows_ - 1) / part_rows_),
        sums_size_(kSums * rows_.width()) {}

  // The sums of each part for scale, then those for shift.
  std::size_t scratch_bytes() const override {
    return parts_ * sums_size_ * sizeof(A);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    A* sums = static_cast<A*>(buffers.scratch);
    const bool streams = rows_.streams(buffers);
    parallel_for(static_cast<std::int64_t>(parts_), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto part = static_cast<std::size_t>(begin);
                        part < static_cast<std::size_t>(end); ++part) {
                     go_back(buffers, part, sums + part * sums_size_, streams);
                   }
                   if (streams) finish_streaming();
                 });
    // Scale and shift are shared by all rows, so that every part has a sum for
    // them.
    for (std::size_t i = 0; i < kSums; ++i) {
      add_parts(sums + i * rows_.width(),
                static_cast<A*>(buffers.outputs[1 + i]));
    }
  }

 private:
  static constexpr std::size_t kSums = kIsCentred ? 2 : 1;
  static constexpr std::size_t kLeastRows = 16;  // of a part
  // Enough for most machines, and few enough that adding them up costs little.
  static constexpr std::size_t kMostParts = 128;

  void go_back(const KernelBuffers& buffers, std::size_t part, A* sums,
               bool streams) const {
    std::fill_n(sums, sums_size_, A{0});
    const std::size_t end = std::min(rows_.count(), (part + 1) * part_rows_);
    for (std::size_t row = part * part_rows_; row < end; ++row) {
      go_back_row(buffers, row * rows_.width(), sums, streams);
    }
  }

  // With c = x - mean, g = dy scale and f = 1 / sqrt(mean(c^2) + epsilon):
  //   dx = f (g - mean(g) - c f^2 mean(g c)),  dscale += dy c f,  dshift += dy.
  void go_back_row(const KernelBuffers& buffers, std::size_t place, A* sums,
                   bool streams) const {
    const T* x = static_cast<const T*>(buffers.inputs[0]) + place;
    const A* scale = static_cast<const A*>(buffers.inputs[1]);
    const T* dy = static_cast<const T*>(buffers.inputs[2]) + place;
    const V centre = rows_.all(this->centre_of(x));
    // All three sums are taken in one pass, while the row comes from memory.
    double squares = 0, slopes = 0, products = 0;
    rows_.for_each_block([&](std::size_t first, std::size_t count) {
      Sum of_squares, of_slopes, of_products;
      simd::for_each_vector_of<T>(count, [&](std::size_t step, auto lanes,
                                             std::size_t chain) {
        const std::size_t i = first + step;
        const V c = lanes.keep(hn::Sub(lanes.load(x + i), centre));
        const V g = hn::Mul(lanes.load(dy + i), lanes.load(scale + i));
        of_squares.chains[chain] = hn::MulAdd(c, c, of_squares.chains[chain]);
        of_products.chains[chain] = hn::MulAdd(g, c, of_products.chains[chain]);
        if constexpr (kIsCentred) {
          of_slopes.chains[chain] = hn::Add(of_slopes.chains[chain], g);
        }
      });
      squares += static_cast<double>(of_squares.total());
      slopes += static_cast<double>(of_slopes.total());
      products += static_cast<double>(of_products.total());
    });
    const A f = this->factor_of(squares);
    const V factor = rows_.all(f);
    const V slope = rows_.all(kIsCentred ? rows_.mean_of(slopes) : A{0});
    const V product = rows_.all(f * f * rows_.mean_of(products));
    T* dx = static_cast<T*>(buffers.outputs[0]) + place;
    A* shift_sums = sums + rows_.width();
    rows_.make_row(dx, streams, [=](std::size_t i, auto lanes) {
      const V c = hn::Sub(lanes.load(x + i), centre);
      const V d = lanes.load(dy + i);
      V g = hn::Mul(d, lanes.load(scale + i));
      lanes.store(hn::MulAdd(hn::Mul(d, factor), c, lanes.load(sums + i)),
                  sums + i);
      if constexpr (kIsCentred) {
        lanes.store(hn::Add(d, lanes.load(shift_sums + i)), shift_sums + i);
        g = hn::Sub(g, slope);
      }
      return hn::Mul(hn::NegMulAdd(c, product, g), factor);
    });
  }

  // They are added in the order of the parts.
  void add_parts(const A* sums, A* result) const {
    simd::for_each_vector_of<A>(
        rows_.width(), [&](std::size_t i, auto lanes, std::size_t) {
          V total = lanes.load(sums + i);
          for (std::size_t part = 1; part < parts_; ++part) {
            total = hn::Add(total, lanes.load(sums + part * sums_size_ + i));
          }
          lanes.store(total, result + i);
        });
  }

  std::size_t part_rows_;
  std::size_t parts_;
  std::size_t sums_size_;  // of a part
};

template <class T>
using LayerNorm = RowNorm<T, true>;
template <class T>
using LayerNormGradient = RowNormGradient<T, true>;
template <class T>
using RmsNorm = RowNorm<T, false>;
template <class T>
using RmsNormGradient = RowNormGradient<T, false>;

template <template <class> class Kernel>
void add_kernel(KernelRegistry& kernels, const std::string& op) {
  kernels.add({.op = op,
               .name = "simd:" + op,
               .rank = 10,
               .declines = declines_no_float,
               .prepare = prepare_any_float<Kernel>,
               .in_place = true});
}

void add_kernels(KernelRegistry& kernels) {
  add_kernel<LayerNorm>(kernels, "layer_norm");
  add_kernel<LayerNormGradient>(kernels, "layer_norm_gradient");
  add_kernel<RmsNorm>(kernels, "rms_norm");
  add_kernel<RmsNormGradient>(kernels, "rms_norm_gradient");
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_row_norm(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
