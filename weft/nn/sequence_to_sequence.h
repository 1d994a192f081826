// Models that read one sequence of words and tell another: translators,
// summarisers. What trains them and searches for the best sequence sees them
// through this.
//
// Threads: as Module.
#pragma once

#include "weft/nn/module.h"

namespace weft::nn {

class SequenceToSequence : public Module {
 public:
  // What is known of a source, [N, T, width]. `source`: i32[N, T]; `is_word`:
  // bool[N, T], false where it is padding, on which nothing may depend.
  virtual Value encode(const Value& source, const Value& is_word) = 0;
  // What each place of `told` leads to, [N, U, width]: it depends on the words
  // up to that place and on none behind it. `told`: i32[N, U], the words so
  // far; `encoded` and `is_word` are encode()'s.
  virtual Value decode(const Value& encoded, const Value& is_word,
                       const Value& told) = 0;
  // How well each word fits as the next one, [..., words], for rows of
  // decode(), [..., width].
  virtual Value logits(const Value& rows) = 0;
};

}  // namespace weft::nn
