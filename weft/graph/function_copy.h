// A function made from another node by node: what every rewrite of a graph
// that does not build it anew consists of.
//
// Threads: caller synchronises.
#pragma once

#include "weft/graph/function.h"

namespace weft {

class FunctionCopy {
 public:
  // Begins an empty copy of `from`, which must outlive it.
  FunctionCopy(const Function& from, std::string name);

  // The value that stands for one of `from`; -1 while there is none.
  ValueId& operator[](ValueId id) {
    return renamed_[static_cast<std::size_t>(id)];
  }
  std::vector<ValueId> renamed(const std::vector<ValueId>& ids) const;

  // A parameter for a value of `from`, of the same type and name.
  void add_parameter(ValueId id);
  // Adds one for each parameter of `from`, in order.
  void add_parameters();
  // The node with the copies of its operands. Results for which something
  // stands already keep it.
  void add_node(const Node& node) { add_node(node, node.attributes); }
  void add_node(const Node& node, const Attributes& attributes);

  // What has been made so far, to be added to.
  Function& function() { return function_; }
  // The copy, which returns the copies of the results of `from`, or of other
  // values, all of which must be there. Nothing is left to add to.
  Function finish() { return finish(from_.results()); }
  Function finish(const std::vector<ValueId>& results);

 private:
  const Function& from_;
  std::vector<ValueId> renamed_;
  Function function_;
};

}  // namespace weft
