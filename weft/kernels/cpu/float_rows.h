// Rows of any float that lie end to end, each read from memory once and then
// found in the cache: what kernels share that need sums of a row before they
// can write it.
//
// It is compiled once per target (kernels/simd/targets.h).
#if defined(WEFT_KERNELS_CPU_FLOAT_ROWS_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef WEFT_KERNELS_CPU_FLOAT_ROWS_H_
#undef WEFT_KERNELS_CPU_FLOAT_ROWS_H_
#else
#define WEFT_KERNELS_CPU_FLOAT_ROWS_H_
#endif

#include <algorithm>

#include "weft/graph/kernel.h"
#include "weft/kernels/simd/lanes.h"
#include "weft/kernels/simd/streaming.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {

template <class T>
class FloatRows {
 public:
  using A = simd::Computed<T>;
  using V = simd::ComputedVector<T>;
  using Sum = simd::ChainedSum<T>;

  // Operand 0 as rows of `width`; `moved` counts the operands and results that
  // are as large.
  FloatRows(const OpCall& call, Dim width, std::uint64_t moved)
      : width_(static_cast<std::size_t>(width)),
        count_(static_cast<std::size_t>(call.input(0).shape.num_elements()) /
               width_),
        is_large_(moved * call.input(0).bytes() >= least_streamed_bytes()) {}

  std::size_t width() const { return width_; }
  std::size_t count() const { return count_; }

  static V all(A value) { return simd::hn::Set(simd::ComputedTag<T>(), value); }

  // Calls body(first, count) for blocks of a row. Each has sums of its own, and
  // these are added up in f64: in one sum of a long row, roundings would grow
  // with it.
  template <class Body>
  HWY_INLINE void for_each_block(Body&& body) const {
    constexpr std::size_t kBlock = 4096;
    for (std::size_t first = 0; first < width_; first += kBlock) {
      body(first, std::min(kBlock, width_ - first));
    }
  }

  // The sum over a row; add(sum, i, lanes) is what it is with elements i and
  // on.
  template <class Add>
  HWY_INLINE double sum_of(Add&& add) const {
    double total = 0;
    for_each_block([&](std::size_t first, std::size_t count) {
      Sum sum;
      simd::for_each_vector_of<T>(
          count, [&](std::size_t i, auto lanes, std::size_t chain) {
            sum.chains[chain] = add(sum.chains[chain], first + i, lanes);
          });
      total += static_cast<double>(sum.total());
    });
    return total;
  }

  A mean_of(double total) const {
    return static_cast<A>(total / static_cast<double>(width_));
  }

  // A result that overwrites an operand finds its lines in the cache already.
  bool streams(const KernelBuffers& buffers) const {
    return is_large_ && buffers.outputs[0] != buffers.inputs[0];
  }

  // Puts make(i, lanes) to y[i], for a whole row; finish_streaming() is left to
  // the caller. `make` holds copies of what it needs: behind a reference, each
  // store might have changed it, for all that the compiler knows.
  template <class Make>
  void make_row(T* y, bool streams, Make make) const {
    make_tiles(reinterpret_cast<std::byte*>(y),
               static_cast<std::int64_t>(width_), sizeof(T), streams,
               [make](std::int64_t first, std::int64_t count, std::byte* to) {
                 const Make own = make;
                 T* results = reinterpret_cast<T*>(to);
                 const auto begin = static_cast<std::size_t>(first);
                 simd::for_each_vector_of<T>(
                     static_cast<std::size_t>(count),
                     [=](std::size_t i, auto lanes, std::size_t) {
                       lanes.store(own(begin + i, lanes), results + i);
                     });
               });
  }

 private:
  std::size_t width_, count_;
  bool is_large_;
};

}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
