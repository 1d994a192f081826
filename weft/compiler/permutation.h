// Permutations of axes, as transpose has them.
//
// Threads: pure functions.
#pragma once

#include "weft/graph/attributes.h"

namespace weft {

// Which axis of the operand each axis of a transposition's result is, none
// negative; an empty `permutation` turns all around.
Integers permutation_of(const Attributes& transpose, int rank);

bool is_in_order(const Integers& permutation);

}  // namespace weft
