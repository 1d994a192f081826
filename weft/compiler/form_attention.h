// Puts multi_head_attention in the place of attention (found_attention.h) and
// of the transpositions around it (heads_layout.h).
//
// Threads: pure function.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// `function`, with what the op replaces left behind where nobody needs it.
Function form_attention(const Function& function);

}  // namespace weft
