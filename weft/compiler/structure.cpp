#include "weft/compiler/structure.h"

#include <functional>
#include <string>

#include "weft/base/hash.h"

namespace weft {
namespace {

std::size_t hash_of_type(const TensorType& type) {
  std::size_t hash = hash_with(0, static_cast<std::uint64_t>(type.dtype));
  for (const Dim dim : type.shape.dims()) {
    hash = hash_with(hash, static_cast<std::uint64_t>(dim));
  }
  return hash;
}

}  // namespace

std::size_t structural_hash(const Function& function) {
  std::vector<std::size_t> hashes(function.value_count());
  const auto at = [&](ValueId id) -> std::size_t& {
    return hashes[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < function.parameters().size(); ++i) {
    const ValueId id = function.parameters()[i];
    at(id) = hash_with(hash_of_type(function.type(id)), i);
  }
  for (const Node& node : function.nodes()) {
    std::size_t hash =
        hash_with(hash_of(node.attributes), std::hash<const OpDef*>{}(node.op));
    // The order of operands counts, that of nodes does not.
    for (const ValueId id : node.inputs) hash = hash_with(hash, at(id));
    for (std::size_t i = 0; i < node.outputs.size(); ++i) {
      at(node.outputs[i]) = hash_with(hash, i);
    }
  }
  std::size_t hash = function.parameters().size();
  for (const ValueId id : function.results()) hash = hash_with(hash, at(id));
  return hash;
}

bool have_one_structure(const Function& a, const Function& b) {
  if (a.parameters().size() != b.parameters().size() ||
      a.results().size() != b.results().size()) {
    return false;
  }
  std::vector<ValueId> partner(a.value_count(), -1);
  for (std::size_t i = 0; i < a.parameters().size(); ++i) {
    const ValueId id = a.parameters()[i];
    if (!(a.type(id) == b.type(b.parameters()[i]))) return false;
    partner[static_cast<std::size_t>(id)] = b.parameters()[i];
  }
  std::vector<std::pair<ValueId, ValueId>> open;
  for (std::size_t i = 0; i < a.results().size(); ++i) {
    open.emplace_back(a.results()[i], b.results()[i]);
  }
  while (!open.empty()) {
    const auto [x, y] = open.back();
    open.pop_back();
    if (partner[static_cast<std::size_t>(x)] == y) continue;
    // A value of `a` has one partner, and so has a node.
    if (partner[static_cast<std::size_t>(x)] >= 0 || a.is_parameter(x) ||
        b.is_parameter(y)) {
      return false;
    }
    const Node& m = a.node(a.value(x).node);
    const Node& n = b.node(b.value(y).node);
    if (m.op != n.op || m.inputs.size() != n.inputs.size() ||
        m.outputs.size() != n.outputs.size() ||
        !(m.attributes == n.attributes)) {
      return false;
    }
    bool is_here = false;
    for (std::size_t i = 0; i < m.outputs.size(); ++i) {
      partner[static_cast<std::size_t>(m.outputs[i])] = n.outputs[i];
      is_here = is_here || (m.outputs[i] == x && n.outputs[i] == y);
    }
    if (!is_here) return false;
    for (std::size_t i = 0; i < m.inputs.size(); ++i) {
      open.emplace_back(m.inputs[i], n.inputs[i]);
    }
  }
  return true;
}

}  // namespace weft
