// Masks of bool that compare the place of a key with that of a query, as those
// of a decoder do: [..., queries, keys].
//
// Threads: pure functions.
#pragma once

#include "weft/graph/function.h"

namespace weft {

// Whether the value is true for the keys up to the query's own place, and for
// no others; and whether it is true for exactly the later ones. It is compared
// as `iota`, in any of the ways in which that can be written.
bool is_true_up_to_query(const Function& function, ValueId mask);
bool is_true_for_later_keys(const Function& function, ValueId mask);

}  // namespace weft
