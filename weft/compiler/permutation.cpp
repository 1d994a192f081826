#include "weft/compiler/permutation.h"

#include <numeric>

#include "weft/ops/support/axes.h"

namespace weft {

Integers permutation_of(const Attributes& transpose, int rank) {
  Integers order = transpose.integers("permutation");
  for (std::int64_t& axis : order) axis = resolved_axis(axis, rank);
  // No permutation means all axes in reverse, as in NumPy.
  if (order.empty()) {
    for (int axis = rank; axis-- > 0;) order.push_back(axis);
  }
  return order;
}

bool is_in_order(const Integers& permutation) {
  Integers same(permutation.size());
  std::iota(same.begin(), same.end(), 0);
  return permutation == same;
}

}  // namespace weft
