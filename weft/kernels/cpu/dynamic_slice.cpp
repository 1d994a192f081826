// Slices at places that are read when they are taken: strided copies, one for
// each set of starts.
#include <iterator>
#include <vector>

#include "weft/base/parallel.h"
#include "weft/kernels/cpu/indexing.h"
#include "weft/kernels/simd/strided_copy.h"

namespace weft {
namespace {

// Slices of one shape in a tensor, and the copy of one of them.
class Slices {
 public:
  Slices(const TensorType& x, const TensorType& slices, const Shape& starts,
         bool to_x)
      : element_(size_of(x.dtype)),
        batches_(product(starts.first(starts.rank() - 1))),
        copy_(whole_copy(x, slices, starts, to_x)) {
    const auto strides = row_major_strides(x.shape);
    const int batch_axes = starts.rank() - 1;
    for (int axis = batch_axes; axis < x.shape.rank(); ++axis) {
      axes_.push_back({x.shape[axis], slices.shape[axis], strides[at(axis)]});
    }
    x_stride_ = product(x.shape.last(x.shape.rank() - batch_axes));
    slice_stride_ = product(slices.shape.last(x.shape.rank() - batch_axes));
  }

  // Calls body(copy, bytes to where a slice is in x, bytes to it among slices),
  // in parallel.
  template <class I, class Body>
  void for_each(const I* starts, Body&& body) const {
    constexpr std::int64_t kLarge = 1 << 20;
    const std::int64_t bytes =
        slice_stride_ * static_cast<std::int64_t>(element_);
    // The copy of a large slice is shared out by itself.
    const std::int64_t grain = bytes < kLarge ? grain_of(bytes) : batches_;
    parallel_for(batches_, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t batch = begin; batch < end; ++batch) {
        const I* own = starts + batch * std::ssize(axes_);
        std::int64_t place = batch * x_stride_;
        for (const Axis& axis : axes_) {
          // start_of() moves a start back where the slice would leave x, so
          // that no copy does.
          place += start_of(*own++, axis.size, axis.count) * axis.stride;
        }
        body(copy_, at(place) * element_, at(batch * slice_stride_) * element_);
      }
    });
  }

 private:
  struct Axis {
    std::int64_t size;
    std::int64_t count;
    std::int64_t stride;
  };

  static StridedCopy whole_copy(const TensorType& x, const TensorType& slices,
                                const Shape& starts, bool to_x) {
    // The last axis of the starts holds a start for each axis; those before it
    // are the batch.
    const int batch_axes = starts.rank() - 1;
    const int axes = x.shape.rank() - batch_axes;
    const Shape shape(slices.shape.last(axes));
    const Strides in_x = row_major_strides(Shape(x.shape.last(axes)));
    const Strides own = row_major_strides(shape);
    return {size_of(x.dtype), shape, to_x ? own : in_x, to_x ? in_x : own};
  }

  std::size_t element_;
  std::int64_t batches_;
  std::int64_t x_stride_;
  std::int64_t slice_stride_;
  std::vector<Axis> axes_;
  StridedCopy copy_;
};

std::unique_ptr<PreparedKernel> prepare_dynamic_slice(const OpCall& call) {
  const Slices slices(call.input(0), call.outputs[0], call.input(1).shape,
                      /*to_x=*/false);
  return for_indices(call.input(1).dtype, [&]<class I>(I) {
    return make_kernel([slices](const KernelBuffers& buffers) {
      const auto* x = input_of<std::byte>(buffers, 0);
      auto* y = output_of<std::byte>(buffers, 0);
      slices.for_each(input_of<I>(buffers, 1),
                      [&](const StridedCopy& copy, std::size_t in_x,
                          std::size_t own) { copy.run(x + in_x, y + own); });
    });
  });
}

std::unique_ptr<PreparedKernel> prepare_dynamic_update_slice(
    const OpCall& call) {
  const Slices slices(call.input(0), call.input(1), call.input(2).shape,
                      /*to_x=*/true);
  const WholeCopy whole(call.input(0));
  return for_indices(call.input(2).dtype, [&]<class I>(I) {
    return make_kernel([=](const KernelBuffers& buffers) {
      const auto* update = input_of<std::byte>(buffers, 1);
      auto* y = output_of<std::byte>(buffers, 0);
      // In place, only the slices are touched.
      whole.run(buffers.inputs[0], y);
      slices.for_each(
          input_of<I>(buffers, 2),
          [&](const StridedCopy& copy, std::size_t in_x, std::size_t own) {
            copy.run(update + own, y + in_x);
          });
    });
  });
}

}  // namespace

void register_cpu_dynamic_slice(KernelRegistry& kernels) {
  kernels.add({.op = "dynamic_slice",
               .name = "cpu:copy",
               .rank = 10,
               .prepare = prepare_dynamic_slice});
  kernels.add({.op = "dynamic_update_slice",
               .name = "cpu:copy",
               .rank = 10,
               .prepare = prepare_dynamic_update_slice,
               .in_place = true});
}

}  // namespace weft
