#include "weft/compiler/index_sources.h"

#include <set>

#include "weft/graph/known_ops.h"

namespace weft {
namespace {

class Search {
 public:
  explicit Search(const Function& function) : function_(function) {}

  void follow(ValueId value, std::size_t first, std::size_t count) {
    follow(value, first, count, function_.type(value));
  }

  std::vector<IndexSource> found;

 private:
  void follow(ValueId value, std::size_t first, std::size_t count,
              const TensorType& type) {
    if (function_.is_parameter(value)) {
      found.push_back({value, first, count, type});
      return;
    }
    const Node& node = function_.node(function_.value(value).node);
    const OpDef& op = *node.op;
    // Indices of several axes stand along the last one: an op that mixes that
    // axis with others loses which is of which.
    const bool keeps_axes = count == 1 || keeps_last_axis(node);
    if (op == known::constant) {
      found.push_back({value, first, count, type});
    } else if (op == known::reshape && keeps_axes) {
      follow(node.inputs[0], first, count, type);
    } else if (op == known::concat) {
      follow_parts(node, first, count);
    } else if ((op == known::broadcast_to && keeps_axes) ||
               (op == known::transpose && count == 1) ||
               // A cast to a narrower type could change an index.
               (op == known::cast && keeps_integers(node))) {
      follow(node.inputs[0], first, count);
    }
  }

  const Shape& shape(ValueId value) const {
    return function_.type(value).shape;
  }

  // Along the last axis stand indices of one axis beside those of others; along
  // another one, each part has an index for every axis.
  void follow_parts(const Node& node, std::size_t first, std::size_t count) {
    const int rank = shape(node.outputs[0]).rank();
    const std::int64_t axis = node.attributes.integer("axis");
    const bool is_last = count > 1 && (axis == -1 || axis == rank - 1);
    for (const ValueId input : node.inputs) {
      const auto width =
          is_last ? static_cast<std::size_t>(shape(input).back()) : count;
      if (width > 0) follow(input, first, width);
      if (is_last) first += width;
    }
  }

  bool keeps_last_axis(const Node& node) const {
    if (node.inputs.empty()) return true;
    const Shape& from = shape(node.inputs[0]);
    return from.rank() > 0 && from.back() == shape(node.outputs[0]).back();
  }

  bool keeps_integers(const Node& node) const {
    const std::set<DType> indices{DType::kI32, DType::kI64};
    return indices.contains(function_.type(node.inputs[0]).dtype) &&
           function_.type(node.outputs[0]).dtype == DType::kI64;
  }

  const Function& function_;
};

}  // namespace

std::vector<IndexSource> index_sources(const Function& function,
                                       ValueId indices, std::size_t axes) {
  Search search(function);
  search.follow(indices, 0, axes);
  return std::move(search.found);
}

}  // namespace weft
