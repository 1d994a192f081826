// Who reads each value of a function.
//
// Threads: immutable once built.
#pragma once

#include <span>
#include <vector>

#include "weft/graph/function.h"

namespace weft {

class Readers {
 public:
  // Takes time in proportion to the function.
  explicit Readers(const Function& function);

  // In order; a node that reads the value twice is there twice.
  std::span<const NodeId> nodes(ValueId id) const {
    return nodes_[static_cast<std::size_t>(id)];
  }
  // Whether the function returns the value.
  bool is_result(ValueId id) const {
    return is_result_[static_cast<std::size_t>(id)];
  }
  // The only reader; -1 where there are others, or the function returns it.
  NodeId only(ValueId id) const {
    return nodes(id).size() == 1 && !is_result(id) ? nodes(id).front() : -1;
  }

 private:
  std::vector<std::vector<NodeId>> nodes_;
  std::vector<bool> is_result_;
};

}  // namespace weft
