// What recurrent layers need to know of sequences of different lengths: of rows
// with words first and padding behind them. `is_word`, bool[batch, steps], is
// false where there is padding.
//
// Threads: pure functions.
#pragma once

#include "weft/graph/value.h"

namespace weft::nn {

// What stands at each row's last word in x [steps, batch, width], [batch,
// width]; zeros for a row without words.
Value at_last_word(const Value& x, const Value& is_word);
// x [steps, batch, width] with the words of each row in the opposite order;
// padding stays behind them.
Value reverse_words(const Value& x, const Value& is_word);

}  // namespace weft::nn
