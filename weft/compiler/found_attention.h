// Finds attention: the op itself, and the products, scale, masks and softmax
// that others write in its place, as exporters do.
//
//   softmax(scale query keyᵀ + mask) value
//
// What somebody else reads, as gradients do, is computed anyway, and then it is
// none; so are scores that anything else is done to.
//
// Threads: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "weft/compiler/readers.h"

namespace weft {

struct FoundAttention {
  // A score where `condition` is true, or is not, is replaced by `fill`.
  struct Hidden {
    ValueId condition;
    bool if_true;
    ValueId fill;
  };

  // [..., queries, width], [..., keys, width] and [..., keys, value width];
  // where it is transposed, the last two axes are the other way round.
  ValueId query, key, value;
  bool key_is_transposed = false;
  bool value_is_transposed = false;
  bool query_is_transposed = false;
  double scale = 1;
  bool is_causal = false;
  std::optional<ValueId> looks = {};  // a mask of bool: who looks at whom
  std::vector<ValueId> added = {};    // masks that are added to scores
  std::vector<Hidden> hidden = {};
  ValueId result = -1;
  bool is_op = false;  // attention itself
};

// What the node is the end of; f32 alone. Dims are static.
std::optional<FoundAttention> find_attention(const Function& function,
                                             const Readers& readers,
                                             const Node& node);

}  // namespace weft
