#include "weft/kernels/onednn/matrix.h"

namespace weft::onednn {

dnnl::memory::desc matrix(const TensorType& type, int rank, bool transpose) {
  const Shape& shape = type.shape;
  const auto own_strides = row_major_strides(shape);
  dnnl::memory::dims dims(static_cast<std::size_t>(rank - shape.rank()), 1);
  // The stride of a dim of 1 is never taken.
  dnnl::memory::dims strides(dims.size(), shape.num_elements());
  for (int axis = 0; axis < shape.rank(); ++axis) {
    dims.push_back(shape[axis]);
    strides.push_back(own_strides[static_cast<std::size_t>(axis)]);
  }
  if (transpose) {
    // Nothing is moved: the strides change places with the dims.
    std::swap(dims.end()[-1], dims.end()[-2]);
    std::swap(strides.end()[-1], strides.end()[-2]);
  }
  return strided(type.dtype, dims, strides);
}

}  // namespace weft::onednn
