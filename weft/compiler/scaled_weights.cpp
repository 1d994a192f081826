#include "weft/compiler/scaled_weights.h"

#include "weft/graph/known_ops.h"
#include "weft/ops/shape.h"

namespace weft {

bool can_be_scaled(const MatchedNode& heavy) {
  const DType x = heavy.operand(0).dtype;
  const TensorType& w = heavy.operand(1);
  const bool is_product = *heavy.node.op == known::matmul;
  return heavy.attributes().text("activation") == "none" &&
         (w.dtype == DType::kF32 || w.dtype == DType::kF64) &&
         (w.dtype == x || !is_product) && (w.shape.rank() == 2 || !is_product);
}

bool is_of_channels(const TensorType& type, const TensorType& whole) {
  const int rank = type.shape.rank();
  if (type.dtype != whole.dtype || rank == 0 || rank > whole.shape.rank() ||
      type.shape.back() != whole.shape.back()) {
    return false;
  }
  // It repeats over all other axes.
  for (int axis = 0; axis + 1 < rank; ++axis) {
    if (type.shape[axis] != 1) return false;
  }
  return true;
}

Value as_vector(const Value& channels) {
  if (channels.shape().rank() == 1) return channels;
  return reshape(channels, Shape{channels.shape().back()});
}

Value along_weights(const MatchedNode& heavy, const Value& vector) {
  const bool are_rows =
      *heavy.node.op == known::matmul && heavy.attributes().flag("transpose_b");
  return are_rows ? reshape(vector, Shape{vector.shape()[0], 1}) : vector;
}

}  // namespace weft
