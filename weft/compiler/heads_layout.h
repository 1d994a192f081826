// Where attention finds its heads without anybody copying them: in the
// columns of what products made, or apart.
//
// Threads: pure functions.
#pragma once

#include <array>

#include "weft/compiler/found_attention.h"
#include "weft/compiler/strided_view.h"

namespace weft {

// Where an operand lies.
struct HeadsPlace {
  ValueId base;  // of which it is a part, or all
  bool is_apart = true;
  // The first column of heads in columns, and how far the next head is.
  Dim first = 0;
  Dim step = 0;
  Dim columns = 0;
  // Whether a transposition of the base's last two axes has to come first.
  bool is_transposed = false;
};

struct HeadsLayout {
  Dim batch, heads, queries, keys, width, value_width;
  bool has_length_first = false;
  std::array<HeadsPlace, 3> operands = {};  // query, key, value
  // The value that has the result's heads in columns; -1: they are apart.
  ValueId joined_result = -1;

  // How many nodes before operands and behind the result need not be computed.
  std::size_t saved = 0;
};

// The layout that saves the most.
HeadsLayout best_heads_layout(const Function& function, const Readers& readers,
                              const FoundAttention& found);

}  // namespace weft
