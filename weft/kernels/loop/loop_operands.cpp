// Tiles of operands that are no run of memory: what is broadcast, and columns
// of values.
#include <algorithm>

#include "weft/kernels/loop/loop_kernel.h"
#include "weft/kernels/loop/tile_columns.h"
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

// Takes the rows of a tile part by part: a tile that has several rows has whole
// ones (choose_tile()).
void LoopKernel::fill_columns(const Operand& operand,
                              const KernelBuffers& buffers, std::byte* tile,
                              std::int64_t start,
                              std::int64_t size) const noexcept {
  const std::int64_t row_size = program_.shape.back();
  const std::int64_t row = start / row_size;
  const std::int64_t begin = start % row_size;
  const std::int64_t end = begin + std::min(size, row_size);
  const std::int64_t rows = std::max<std::int64_t>(1, size / row_size);
  std::int64_t part_begin = 0;
  for (std::size_t part = 0; part < operand.columns.size(); ++part) {
    const LoopProgram::Columns& columns = operand.columns[part];
    const std::int64_t first = std::max(begin, part_begin);
    const std::int64_t last = std::min(end, part_begin + columns.width);
    void* source =
        buffers.inputs[static_cast<std::size_t>(operand.pointer) + part];
    const std::int64_t place =
        row * columns.row + columns.first + first - part_begin;
    if (first < last) {
      load_columns(operand.dtype, element(source, operand.dtype, place),
                   element(tile, own_, first - begin),
                   {rows, last - first, columns.row, row_size}, program_.type);
    }
    part_begin += columns.width;
  }
}

}  // namespace weft
