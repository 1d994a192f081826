#include "weft/kernels/onednn/product.h"

#include "weft/kernels/onednn/program.h"

namespace weft::onednn {
namespace {

using dnnl::memory;

// An operand as oneDNN sees it: `rank` dims, the last two in the order of the
// product, transposition expressed by strides.
memory::desc operand(const TensorType& type, int rank, bool transpose) {
  const Shape& shape = type.shape;
  const auto own_strides = row_major_strides(shape);
  memory::dims dims(static_cast<std::size_t>(rank - shape.rank()), 1);
  // The stride of a dim of 1 is never taken.
  memory::dims strides(dims.size(), shape.num_elements());
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

// [..., k] against one matrix is a single product of more rows.
TensorType flattened(const TensorType& type) {
  const Dim columns = type.shape.back();
  return {type.dtype,
          {product(type.shape.first(type.shape.rank() - 1)), columns}};
}

}  // namespace

Product::Product(const OpCall& call)
    : a(call.input(0)),
      b(call.input(1)),
      y(call.outputs[0]),
      transpose_a(call.attributes.flag("transpose_a")),
      transpose_b(call.attributes.flag("transpose_b")) {
  // A stack of transposed matrices cannot be flattened, as its rows are the
  // columns of each.
  if (b.shape.rank() == 2 && a.shape.rank() > 2 && !transpose_a) {
    a = flattened(a);
    y = flattened(y);
  }
}

Product::Operands Product::operands() const {
  const int rank = y.shape.rank();
  return {operand(a, rank, transpose_a), operand(b, rank, transpose_b),
          operand(y, rank, false)};
}

}  // namespace weft::onednn
