// Beam search: the sequence of words that a model finds most probable, looked
// for among the best few beginnings of each length (Graves, "Sequence
// transduction with recurrent neural networks", 2012, section 2.4), ranked by
// the logarithm of the probability over a power of the length (Wu et al.,
// "Google's neural machine translation system", 2016, section 7, without the
// constant).
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "weft/tensor/tensor.h"

namespace weft {

struct BeamOptions {
  std::int64_t width = 4;       // beginnings that are kept
  double length_penalty = 1;    // the power; 0 prefers short sequences
  std::int64_t most_words = 1;  // of a sequence, its end included; at least 1
  std::int32_t first_word = 0;  // that every sequence begins with
  std::int32_t last_word = 0;   // that ends a sequence
  std::vector<std::int32_t> never = {};  // words that no sequence has
  // A beginning is given up if it would not come to a better score than what
  // was found, were it to end so many words further and they cost nothing. A
  // penalty forgives long sequences much, so that looking far ahead takes long:
  // most_words gives up nothing too early.
  std::int64_t look_ahead = 1;
};

struct Hypothesis {
  std::vector<std::int32_t> words;  // without the first and the last one
  double log_probability = 0;       // of these and of the end
  double score = 0;                 // what hypotheses are ranked by
};

// The logarithms of the probabilities of the next word, f32[rows, words], for
// `rows` beginnings of `length` words each, one behind the other, the first
// word included.
using NextWords = std::function<Tensor(std::span<const std::int32_t> beginnings,
                                       std::int64_t length)>;

// Searches for `count` sequences at once. Beginnings stand in `next` sequence
// by sequence, options.width of each; how many they are does not change. Of
// each sequence the best hypotheses, the best first, at most as many as the
// width, at least one.
//
// Exact where the width holds all beginnings and look_ahead is most_words.
// Costs most_words calls of `next` at most.
std::vector<std::vector<Hypothesis>> beam_search(std::int64_t count,
                                                 const BeamOptions& options,
                                                 const NextWords& next);

}  // namespace weft
