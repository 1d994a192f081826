// Tiles of operands that are no run of memory: what is broadcast, and columns
// of several values.
#include <algorithm>

#include "weft/kernels/loop/loop_kernel.h"
#include "weft/kernels/loop/tile_places.h"

namespace weft {

// Where a row of the last axis begins in an operand that is broadcast to it.
std::int64_t LoopKernel::place_of(const Operand& operand,
                                  std::int64_t row) const noexcept {
  const Shape& shape = program_.shape;
  std::int64_t place = 0;
  for (int axis = shape.rank() - 2; axis >= 0; --axis) {
    place +=
        row % shape[axis] * operand.strides[static_cast<std::size_t>(axis)];
    row /= shape[axis];
  }
  return place;
}

// Walks the tile in runs along the last axis, where the operand's stride is 0
// or 1.
void LoopKernel::fill_strided(const Operand& operand, const void* source,
                              std::byte* tile, std::int64_t start,
                              std::int64_t size) const noexcept {
  const Shape& shape = program_.shape;
  const int last = shape.rank() - 1;
  const std::int64_t columns = shape[last];
  std::int64_t done = 0;
  while (done < size) {
    const std::int64_t index = start + done;
    const std::int64_t column = index % columns;
    const std::int64_t offset = place_of(operand, index / columns);
    const std::int64_t run = std::min(size - done, columns - column);
    const std::int64_t stride = operand.strides[static_cast<std::size_t>(last)];
    const auto* from = static_cast<const std::byte*>(source) +
                       static_cast<std::size_t>(offset + column * stride) *
                           size_of(operand.dtype);
    std::byte* to = element(tile, own_, done);
    // A number that repeats is read and converted once.
    load_tile(operand.dtype, from, to, stride == 0 ? 1 : run, program_.type);
    if (stride == 0) repeat_first(to, own_, run);
    done += run;
  }
}

// Walks the tile in runs along the last axis, each of which lies in one of the
// values.
void LoopKernel::fill_joined(const Operand& operand,
                             const KernelBuffers& buffers, std::byte* tile,
                             std::int64_t start,
                             std::int64_t size) const noexcept {
  const std::int64_t columns = program_.shape.back();
  std::int64_t row = start / columns;
  std::int64_t column = start % columns;  // of the value
  std::size_t part = 0;
  while (column >= operand.widths[part]) column -= operand.widths[part++];
  for (std::int64_t done = 0; done < size;) {
    const std::int64_t width = operand.widths[part];
    const std::int64_t run = std::min(size - done, width - column);
    void* source =
        buffers.inputs[static_cast<std::size_t>(operand.pointer) + part];
    load_tile(operand.dtype,
              element(source, operand.dtype, row * width + column),
              element(tile, own_, done), run, program_.type);
    done += run;
    column = 0;
    if (++part < operand.widths.size()) continue;
    part = 0;
    ++row;
  }
}

}  // namespace weft
