// Layer and RMS normalisation and their gradients. A row is read from memory
// once: what follows its mean finds it in the cache. Sums over all rows are
// taken in parts that depend on the shape alone, so that any number of threads
// gives the same bits.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/row_norm.cpp"
#include <algorithm>
#include <cmath>
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/any_float.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/streaming.h"
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
  using A = simd::Computed<T>;
  using V = simd::ComputedVector<T>;
  using Sum = simd::ChainedSum<T>;

  // `moved` counts the operands and results as large as x.
  RowNormKernel(const OpCall& call, std::uint64_t moved)
      : width_(static_cast<std::size_t>(call.input(0).shape.back())),
        rows_(static_cast<std::size_t>(call.input(0).shape.num_elements()) /
              width_),
        epsilon_(call.attributes.real("epsilon")),
        streams_(moved * call.input(0).bytes() >= least_streamed_bytes()) {}

  static V all(A value) { return hn::Set(simd::ComputedTag<T>(), value); }

  template <class Body>
  void for_each_vector(std::size_t count, Body&& body) const {
    simd::for_each_vector_of<T>(count, body);
  }

  A mean_of(const Sum& sum) const {
    return sum.total() / static_cast<A>(width_);
  }

  // The mean of a row, 0 where none is taken off.
  A centre_of(const T* x) const {
    if constexpr (!kIsCentred) return 0;
    Sum sum;
    for_each_vector(width_, [&](std::size_t i, auto lanes, std::size_t chain) {
      sum.chains[chain] = hn::Add(sum.chains[chain], lanes.load(x + i));
    });
    return mean_of(sum);
  }

  A factor_of(A power) const {
    return 1 / std::sqrt(power + static_cast<A>(epsilon_));
  }

  // The places [0, width) of a row's results, by way of make_tiles().
  template <class Body>
  void make_row(T* y, Body&& body) const {
    make_tiles(reinterpret_cast<std::byte*>(y),
               static_cast<std::int64_t>(width_), sizeof(T), streams_,
               [&](std::int64_t first, std::int64_t count, std::byte* to) {
                 T* results = reinterpret_cast<T*>(to);
                 const auto begin = static_cast<std::size_t>(first);
                 for_each_vector(static_cast<std::size_t>(count),
                                 [&](std::size_t i, auto lanes, std::size_t) {
                                   lanes.store(body(begin + i, lanes),
                                               results + i);
                                 });
               });
  }

  void finish() const {
    if (streams_) finish_streaming();
  }

  std::size_t width_, rows_;
  double epsilon_;
  bool streams_;
};

template <class T, bool kIsCentred>
class RowNorm : public RowNormKernel<T, kIsCentred> {
  using Base = RowNormKernel<T, kIsCentred>;
  using Base::width_, Base::all;
  using typename Base::A, typename Base::Sum, typename Base::V;

 public:
  explicit RowNorm(const OpCall& call) : Base(call, 2) {}

  void run(const KernelBuffers& buffers) noexcept override {
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    const A* scale = static_cast<const A*>(buffers.inputs[1]);
    const A* shift =
        kIsCentred ? static_cast<const A*>(buffers.inputs[2]) : nullptr;
    T* y = static_cast<T*>(buffers.outputs[0]);
    parallel_for(static_cast<std::int64_t>(this->rows_),
                 1 + kLeastWork / static_cast<std::int64_t>(width_),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto row = static_cast<std::size_t>(begin);
                        row < static_cast<std::size_t>(end); ++row) {
                     normalise(x + row * width_, scale, shift,
                               y + row * width_);
                   }
                   this->finish();
                 });
  }

 private:
  static constexpr std::int64_t kLeastWork = 4096;  // elements of a thread

  void normalise(const T* x, const A* scale, const A* shift, T* y) const {
    const V centre = all(this->centre_of(x));
    Sum squares;
    this->for_each_vector(
        width_, [&](std::size_t i, auto lanes, std::size_t chain) {
          const V c = lanes.keep(hn::Sub(lanes.load(x + i), centre));
          squares.chains[chain] = hn::MulAdd(c, c, squares.chains[chain]);
        });
    const V factor = all(this->factor_of(this->mean_of(squares)));
    this->make_row(y, [&](std::size_t i, auto lanes) {
      const V h = hn::Mul(hn::Sub(lanes.load(x + i), centre), factor);
      if constexpr (!kIsCentred) return hn::Mul(h, lanes.load(scale + i));
      return hn::MulAdd(h, lanes.load(scale + i), lanes.load(shift + i));
    });
  }
};

template <class T, bool kIsCentred>
class RowNormGradient : public RowNormKernel<T, kIsCentred> {
  using Base = RowNormKernel<T, kIsCentred>;
  using Base::width_, Base::rows_, Base::all;
  using typename Base::A, typename Base::Sum, typename Base::V;

 public:
  explicit RowNormGradient(const OpCall& call)
      : Base(call, 3),
        part_rows_(std::max(kLeastRows, (rows_ + kMostParts - 1) / kMostParts)),
        parts_((rows_ + part_rows_ - 1) / part_rows_) {}

  // The sums of each part for scale, then those for shift.
  std::size_t scratch_bytes() const override {
    return parts_ * kSums * width_ * sizeof(A);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    A* sums = static_cast<A*>(buffers.scratch);
    parallel_for(static_cast<std::int64_t>(parts_), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto part = static_cast<std::size_t>(begin);
                        part < static_cast<std::size_t>(end); ++part) {
                     go_back(buffers, part, sums + part * kSums * width_);
                   }
                   this->finish();
                 });
    for (std::size_t i = 0; i < kSums; ++i) {
      add_parts(sums + i * width_, static_cast<A*>(buffers.outputs[1 + i]));
    }
  }

 private:
  static constexpr std::size_t kSums = kIsCentred ? 2 : 1;
  static constexpr std::size_t kLeastRows = 16;  // of a part
  // Enough for most machines, and few enough that adding them up costs little.
  static constexpr std::size_t kMostParts = 128;

  void go_back(const KernelBuffers& buffers, std::size_t part, A* sums) const {
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    const A* scale = static_cast<const A*>(buffers.inputs[1]);
    const T* dy = static_cast<const T*>(buffers.inputs[2]);
    T* dx = static_cast<T*>(buffers.outputs[0]);
    std::fill_n(sums, kSums * width_, A{0});
    const std::size_t end = std::min(rows_, (part + 1) * part_rows_);
    for (std::size_t row = part * part_rows_; row < end; ++row) {
      const std::size_t first = row * width_;
      go_back_row(x + first, scale, dy + first, dx + first, sums);
    }
  }

  // With c = x - mean, g = dy scale and f = 1 / sqrt(mean(c^2) + epsilon):
  //   dx = f (g - mean(g) - c f^2 mean(g c)),  dscale += dy c f,  dshift += dy.
  void go_back_row(const T* x, const A* scale, const T* dy, T* dx,
                   A* sums) const {
    const V centre = all(this->centre_of(x));
    Sum squares, slopes, products;
    this->for_each_vector(
        width_, [&](std::size_t i, auto lanes, std::size_t chain) {
          const V c = lanes.keep(hn::Sub(lanes.load(x + i), centre));
          const V g = hn::Mul(lanes.load(dy + i), lanes.load(scale + i));
          squares.chains[chain] = hn::MulAdd(c, c, squares.chains[chain]);
          products.chains[chain] = hn::MulAdd(g, c, products.chains[chain]);
          if constexpr (kIsCentred) {
            slopes.chains[chain] = hn::Add(slopes.chains[chain], g);
          }
        });
    const A f = this->factor_of(this->mean_of(squares));
    const V factor = all(f);
    const V slope = all(kIsCentred ? this->mean_of(slopes) : A{0});
    const V product = all(f * f * this->mean_of(products));
    this->make_row(dx, [&](std::size_t i, auto lanes) {
      const V c = hn::Sub(lanes.load(x + i), centre);
      const V d = lanes.load(dy + i);
      V g = hn::Mul(d, lanes.load(scale + i));
      A* to = sums + i;
      lanes.store(hn::MulAdd(hn::Mul(d, factor), c, lanes.load(to)), to);
      if constexpr (kIsCentred) {
        lanes.store(hn::Add(d, lanes.load(to + width_)), to + width_);
        g = hn::Sub(g, slope);
      }
      return hn::Mul(hn::NegMulAdd(c, product, g), factor);
    });
  }

  // In the order of the parts.
  void add_parts(const A* sums, A* result) const {
    simd::for_each_vector_of<A>(width_, [&](std::size_t i, auto lanes,
                                            std::size_t) {
      V total = lanes.load(sums + i);
      for (std::size_t part = 1; part < parts_; ++part) {
        total = hn::Add(total, lanes.load(sums + part * kSums * width_ + i));
      }
      lanes.store(total, result + i);
    });
  }

  std::size_t part_rows_;
  std::size_t parts_;
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
