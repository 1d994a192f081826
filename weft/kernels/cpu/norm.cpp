// Mean and variance per channel.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "weft/kernels/cpu/norm.cpp"
#include <hwy/foreach_target.h>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/any_float.h"
#include "weft/kernels/cpu/channel_moments.h"
#include "weft/kernels/simd/targets.h"

HWY_BEFORE_NAMESPACE();
namespace weft::HWY_NAMESPACE {
namespace {

template <class T>
class Moments : public PreparedKernel {
  using A = simd::Computed<T>;

 public:
  explicit Moments(const OpCall& call)
      : moments_(static_cast<std::size_t>(call.input(0).shape.back()),
                 static_cast<std::size_t>(call.input(0).shape.num_elements() /
                                          call.input(0).shape.back())) {}

  std::size_t scratch_bytes() const override {
    return moments_.kept() * sizeof(A);
  }

  void run(const KernelBuffers& buffers) noexcept override {
    const T* x = static_cast<const T*>(buffers.inputs[0]);
    A* kept = static_cast<A*>(buffers.scratch);
    // Chunks depend on the shape alone, so that any number of threads gives the
    // same bits.
    parallel_for(static_cast<std::int64_t>(moments_.chunks()), 1,
                 [&](std::int64_t begin, std::int64_t end) {
                   for (auto i = begin; i < end; ++i) {
                     moments_.measure(x, nullptr, static_cast<std::size_t>(i),
                                      kept);
                   }
                 });
    A* mean = static_cast<A*>(buffers.outputs[0]);
    A* variance = static_cast<A*>(buffers.outputs[1]);
    for (std::size_t c = 0; c < moments_.channels(); ++c) {
      combine(x, kept, c, mean[c], variance[c]);
    }
  }

 private:
  void combine(const T* x, const A* kept, std::size_t c, A& mean,
               A& variance) const {
    // There are few groups, so that combining them in double costs little and
    // loses nothing.
    const auto rows = static_cast<double>(moments_.rows());
    double sum = 0;
    moments_.for_each_group(x, nullptr, kept, c, [&](const ChannelGroup& own) {
      sum += own.count * own.mean;
    });
    const double centre = sum / rows;
    double squares = 0;
    moments_.for_each_group(x, nullptr, kept, c, [&](const ChannelGroup& own) {
      // The squares about the common centre are those about the group's own,
      // and the distance of the two for each of its elements.
      const double distance = own.mean - centre;
      squares += own.squares + own.count * distance * distance;
    });
    mean = static_cast<A>(centre);
    variance = static_cast<A>(squares / rows);
  }

  ChannelMoments<T, false> moments_;
};

void add_kernels(KernelRegistry& kernels) {
  kernels.add({.op = "moments",
               .name = "simd:moments",
               .rank = 10,
               .declines = declines_no_float,
               .prepare = prepare_any_float<Moments>});
}

}  // namespace
}  // namespace weft::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace weft {

void register_cpu_norm(KernelRegistry& kernels) {
  WEFT_FOR_MACHINE(add_kernels)(kernels);
}

}  // namespace weft
#endif
