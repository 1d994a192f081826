// Data movement as strided copies: element bytes go where they belong, the
// dtype does not matter.
#include <cstring>
#include <vector>

#include "weft/base/index.h"
#include "weft/base/parallel.h"
#include "weft/kernels/cpu/function_kernel.h"
#include "weft/kernels/simd/strided_copy.h"
#include "weft/ops/support/axes.h"
#include "weft/ops/support/slicing.h"

namespace weft {
namespace {

std::size_t element_bytes(const OpCall& call) {
  return size_of(call.outputs[0].dtype);
}

// A copy that starts some bytes into its source or target.
struct Placed {
  StridedCopy copy;
  std::size_t from_offset = 0;
  std::size_t to_offset = 0;

  void run(const void* from, void* to) const noexcept {
    copy.run(static_cast<const std::byte*>(from) + from_offset,
             static_cast<std::byte*>(to) + to_offset);
  }
};

// Fills `bytes` with one element, which `pattern` holds.
void fill(void* target, std::size_t bytes, const Tensor& pattern) {
  const std::size_t element = pattern.bytes();
  auto* to = static_cast<std::byte*>(target);
  const auto* value = static_cast<const std::byte*>(pattern.raw());
  // Zeros are what is filled with most often, and memset is the fastest way to
  // them.
  const bool is_zero = std::all_of(
      value, value + element, [](std::byte b) { return b == std::byte{}; });
  // Fewer elements than this are not worth a thread.
  parallel_for(static_cast<std::int64_t>(bytes / element), 64 << 10,
               [&](std::int64_t begin, std::int64_t end) {
                 if (is_zero) {
                   std::memset(to + at(begin) * element, 0,
                               at(end - begin) * element);
                   return;
                 }
                 dispatch(pattern.dtype(), [&]<class T>(T) {
                   std::fill(reinterpret_cast<T*>(to) + begin,
                             reinterpret_cast<T*>(to) + end,
                             *static_cast<const T*>(pattern.raw()));
                 });
               });
}

// The copy of a part of `whole`, and where it starts, in bytes.
struct Part {
  Strides strides{};
  std::size_t offset = 0;

  Part(const Shape& whole, const std::vector<SliceRange>& ranges,
       std::size_t element) {
    const auto full = row_major_strides(whole);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      strides[i] = full[i] * ranges[i].step;
      offset += at(ranges[i].begin * full[i]) * element;
    }
  }
};

std::unique_ptr<PreparedKernel> prepare_view(const OpCall& call) {
  const Shape flat{call.outputs[0].shape.num_elements()};
  // The elements are dense on both sides, so they are one axis.
  const StridedCopy copy(element_bytes(call), flat, {1}, {1});
  return make_kernel([copy](const KernelBuffers& buffers) {
    // A plan gives a view the memory of its source; eagerly it has its own.
    if (buffers.inputs[0] == buffers.outputs[0]) return;
    copy.run(buffers.inputs[0], buffers.outputs[0]);
  });
}

std::unique_ptr<PreparedKernel> prepare_transpose(const OpCall& call) {
  const Shape& shape = call.outputs[0].shape;
  const auto strides = row_major_strides(call.input(0).shape);
  const Integers& order = call.attributes.integers("permutation");
  Strides from{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    const int source = order.empty()
                           ? shape.rank() - 1 - axis
                           : resolved_axis(order[at(axis)], shape.rank());
    from[at(axis)] = strides[at(source)];
  }
  const StridedCopy copy(element_bytes(call), shape, from,
                         row_major_strides(shape));
  return make_kernel([copy](const KernelBuffers& buffers) {
    copy.run(buffers.inputs[0], buffers.outputs[0]);
  });
}

std::unique_ptr<PreparedKernel> prepare_broadcast(const OpCall& call) {
  const Shape& source = call.input(0).shape;
  const Shape& shape = call.outputs[0].shape;
  const auto strides = row_major_strides(source);
  const int extra = shape.rank() - source.rank();
  Strides from{};
  for (int axis = 0; axis < source.rank(); ++axis) {
    // A stride of zero repeats the element.
    if (source[axis] != 1) from[at(axis + extra)] = strides[at(axis)];
  }
  const StridedCopy copy(element_bytes(call), shape, from,
                         row_major_strides(shape));
  return make_kernel([copy](const KernelBuffers& buffers) {
    copy.run(buffers.inputs[0], buffers.outputs[0]);
  });
}

std::unique_ptr<PreparedKernel> prepare_slice(const OpCall& call) {
  const Shape& whole = call.input(0).shape;
  const Shape& shape = call.outputs[0].shape;
  const Part part(whole, slice_ranges(call, whole), element_bytes(call));
  const Placed placed{
      {element_bytes(call), shape, part.strides, row_major_strides(shape)},
      part.offset};
  return make_kernel([placed](const KernelBuffers& buffers) {
    placed.run(buffers.inputs[0], buffers.outputs[0]);
  });
}

// Fills the whole with one value, then puts the input in its place.
std::unique_ptr<PreparedKernel> prepare_placing(
    const OpCall& call, const std::vector<SliceRange>& ranges, double value) {
  const TensorType& whole = call.outputs[0];
  const Shape& shape = call.input(0).shape;
  const Part part(whole.shape, ranges, element_bytes(call));
  const Placed placed{
      {element_bytes(call), shape, row_major_strides(shape), part.strides},
      0,
      part.offset};
  const Tensor pattern = Tensor::scalar(value, whole.dtype);
  const std::size_t bytes = whole.bytes();
  return make_kernel([=](const KernelBuffers& buffers) {
    // Filling all and writing the operand over it needs no case for each edge.
    fill(buffers.outputs[0], bytes, pattern);
    placed.run(buffers.inputs[0], buffers.outputs[0]);
  });
}

std::unique_ptr<PreparedKernel> prepare_unslice(const OpCall& call) {
  return prepare_placing(call, slice_ranges(call, call.outputs[0].shape), 0);
}

std::unique_ptr<PreparedKernel> prepare_pad(const OpCall& call) {
  std::vector<SliceRange> ranges;
  // A place is where the operand begins and one step at a time: the end follows
  // from its shape.
  for (const std::int64_t low : call.attributes.integers("low")) {
    ranges.push_back({low, 0, 1});
  }
  return prepare_placing(call, ranges, call.attributes.real("value"));
}

// Copies between a whole and its parts along an axis, one part after another.
std::vector<Placed> parts_along(const TensorType& whole,
                                std::span<const TensorType> parts,
                                std::int64_t axis, bool to_whole) {
  const int cut = resolved_axis(axis, whole.shape.rank());
  const std::size_t element = size_of(whole.dtype);
  const auto strides = row_major_strides(whole.shape);
  std::vector<Placed> copies;
  std::size_t offset = 0;
  for (const TensorType& part : parts) {
    const auto own = row_major_strides(part.shape);
    if (to_whole) {
      copies.push_back({{element, part.shape, own, strides}, 0, offset});
    } else {
      copies.push_back({{element, part.shape, strides, own}, offset, 0});
    }
    // Parts follow each other along the axis of the whole.
    offset += at(part.shape[cut] * strides[at(cut)]) * element;
  }
  return copies;
}

std::unique_ptr<PreparedKernel> prepare_concat(const OpCall& call) {
  auto copies = parts_along(call.outputs[0], call.inputs,
                            call.attributes.integer("axis"), true);
  return make_kernel([copies = std::move(copies)](const KernelBuffers& b) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i].run(b.inputs[i], b.outputs[0]);
    }
  });
}

std::unique_ptr<PreparedKernel> prepare_split(const OpCall& call) {
  auto copies = parts_along(call.input(0), call.outputs,
                            call.attributes.integer("axis"), false);
  return make_kernel([copies = std::move(copies)](const KernelBuffers& b) {
    for (std::size_t i = 0; i < copies.size(); ++i) {
      copies[i].run(b.inputs[0], b.outputs[i]);
    }
  });
}

// Each repeated axis as (repeats, dim), the first of which stands still in
// the source.
std::unique_ptr<PreparedKernel> prepare_tile(const OpCall& call) {
  const Shape& source = call.input(0).shape;
  const auto from_whole = row_major_strides(source);
  const auto to_whole = row_major_strides(call.outputs[0].shape);
  const Integers& repeats = call.attributes.integers("repeats");
  Shape shape;
  Strides from{};
  Strides to{};
  const auto add = [&](Dim extent, std::int64_t from_stride,
                       std::int64_t to_stride) {
    from[at(shape.rank())] = from_stride;
    to[at(shape.rank())] = to_stride;
    shape.push_back(extent);
  };
  for (int axis = 0; axis < source.rank(); ++axis) {
    const std::int64_t stride = to_whole[at(axis)];
    if (repeats[at(axis)] != 1) {
      add(repeats[at(axis)], 0, source[axis] * stride);
    }
    add(source[axis], from_whole[at(axis)], stride);
  }
  const StridedCopy copy(element_bytes(call), shape, from, to);
  return make_kernel([copy](const KernelBuffers& buffers) {
    copy.run(buffers.inputs[0], buffers.outputs[0]);
  });
}

std::optional<std::string> declines_tile(const OpCall& call) {
  int rank = call.input(0).shape.rank();
  for (const std::int64_t count : call.attributes.integers("repeats")) {
    // Each repeated axis becomes two.
    rank += count != 1 ? 1 : 0;
  }
  if (rank <= Shape::kMaxRank) return std::nullopt;
  return "too many axes are repeated";
}

}  // namespace

void register_cpu_shape(KernelRegistry& kernels) {
  const auto add =
      [&](const char* op,
          std::unique_ptr<PreparedKernel> (*prepare)(const OpCall&),
          std::optional<std::string> (*declines)(const OpCall&) = nullptr) {
        kernels.add({op, "cpu:copy", 10, declines, prepare});
      };
  add("reshape", prepare_view);
  add("stop_gradient", prepare_view);
  add("after", prepare_view);
  add("transpose", prepare_transpose);
  add("broadcast_to", prepare_broadcast);
  add("slice", prepare_slice);
  add("unslice", prepare_unslice);
  add("concat", prepare_concat);
  add("split", prepare_split);
  add("pad", prepare_pad);
  add("tile", prepare_tile, declines_tile);
}

}  // namespace weft
