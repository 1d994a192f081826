// Values that hold the elements of another one in another order, or some of
// them: what reshape, transpose, slice and split make, as steps through the
// memory of what they were made of.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

// So many places, `step` elements apart.
struct ViewStride {
  Dim size;
  Dim step;

  bool operator==(const ViewStride&) const = default;
};

// In the order of elements; where one ends, the next one before it goes on.
using ViewStrides = std::vector<ViewStride>;

// Neighbours are one where they can be, and none has size 1.
ViewStrides joined(const ViewStrides& strides);

// `strides` by axes of these sizes, from the front; nothing where an axis
// would begin inside of a stride that cannot be cut there.
std::optional<std::vector<ViewStrides>> by_axes(const ViewStrides& strides,
                                                std::span<const Dim> sizes);

class StridedView {
 public:
  // All elements of `base`, in order.
  StridedView(const Function& function, ValueId base);

  // What the node makes of a value with this view, its first operand; nothing
  // for an op that does more than choose and order elements.
  std::optional<StridedView> after(const Function& function, const Node& node,
                                   ValueId result) const;

  ValueId base() const { return base_; }
  Dim first() const { return first_; }  // the element of the base
  const ViewStrides& strides() const { return strides_; }

 private:
  std::optional<StridedView> transposed(const Shape& shape,
                                        const Integers& order) const;
  // Without all but `size` places from `begin` on of an axis.
  std::optional<StridedView> cut(const Shape& shape, int axis, Dim begin,
                                 Dim size) const;

  ValueId base_;
  Dim first_ = 0;
  ViewStrides strides_;
};

// All views of a value: of what it was made of in the end first, of itself
// last. Dims are static, and none is 0.
std::vector<StridedView> views_of(const Function& function, ValueId id);

}  // namespace weft
