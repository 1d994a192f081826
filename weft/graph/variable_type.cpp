#include "weft/graph/variable_type.h"

#include "weft/tensor/symbol.h"

namespace weft {

bool may_hold(const TensorType& wanted, const TensorType& given) {
  if (wanted.dtype != given.dtype ||
      wanted.shape.rank() != given.shape.rank()) {
    return false;
  }
  for (int axis = 0; axis < wanted.shape.rank(); ++axis) {
    const Dim dim = given.shape[axis];
    if (dim != wanted.shape[axis] && !is_symbolic(dim)) return false;
  }
  return true;
}

}  // namespace weft
