#include "weft/graph/function_copy.h"

namespace weft {

FunctionCopy::FunctionCopy(const Function& from, std::string name)
    : from_(from),
      // Values are numbered from 0 without gaps, so a list maps them faster
      // than a table.
      renamed_(from.value_count(), -1),
      function_(std::move(name)) {}

std::vector<ValueId> FunctionCopy::renamed(
    const std::vector<ValueId>& ids) const {
  std::vector<ValueId> result;
  for (const ValueId id : ids) {
    result.push_back(renamed_[static_cast<std::size_t>(id)]);
  }
  return result;
}

void FunctionCopy::add_parameter(ValueId id) {
  (*this)[id] = function_.add_parameter(from_.type(id), from_.value(id).name);
}

void FunctionCopy::add_parameters() {
  for (const ValueId id : from_.parameters()) add_parameter(id);
}

void FunctionCopy::add_node(const Node& node, const Attributes& attributes) {
  const Node& copy = function_.add_node(*node.op, renamed(node.inputs),
                                        attributes, node.location);
  for (std::size_t i = 0; i < node.outputs.size(); ++i) {
    ValueId& output = (*this)[node.outputs[i]];
    // A value that was given as a parameter stays that, though its node is
    // copied for its other results.
    if (output < 0) output = copy.outputs[i];
  }
}

Function FunctionCopy::finish(const std::vector<ValueId>& results) {
  function_.set_results(renamed(results));
  return std::move(function_);
}

}  // namespace weft
