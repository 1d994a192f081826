#include "weft/compiler/readers.h"

namespace weft {

Readers::Readers(const Function& function)
    : nodes_(function.value_count()), is_result_(function.value_count()) {
  for (std::size_t i = 0; i < function.nodes().size(); ++i) {
    for (const ValueId id : function.nodes()[i].inputs) {
      nodes_[static_cast<std::size_t>(id)].push_back(static_cast<NodeId>(i));
    }
  }
  for (const ValueId id : function.results()) {
    is_result_[static_cast<std::size_t>(id)] = true;
  }
}

}  // namespace weft
