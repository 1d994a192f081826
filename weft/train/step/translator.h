// Finds what a trained model makes of a sequence, word by word, by beam search.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "weft/nn/sequence_to_sequence.h"
#include "weft/runtime/jit/graph_function.h"
#include "weft/train/step/beam_search.h"
#include "weft/train/step/predictor.h"

namespace weft {

struct TranslatorOptions {
  std::int64_t beam = 4;
  double length_penalty = 1;
};

class Translator {
 public:
  using Sentence = std::vector<std::int32_t>;

  // `functions` have those of translator_functions(), for the same width.
  Translator(const ModelFunctions& functions, const TranslatorOptions& options);

  // The hypotheses for each source, the best first. Sources end with <eos>
  // (data/parallel_text.h); translations have neither <bos> nor <eos>, and no
  // <unk>. Sentences of like lengths are searched together.
  std::vector<std::vector<Hypothesis>> translate(
      const std::vector<Sentence>& sources);

 private:
  std::vector<std::vector<Hypothesis>> translate_group(
      const std::vector<const Sentence*>& sources);

  TranslatorOptions options_;
  ModelFunction encode_;
  ModelFunction next_;
};

// What such a search asks of a model, which outlives them:
//   "encode"      (source i32[N, T]) -> encoded [N width, T, …],
//                 is_word bool[N width, T]: what is known of a source, one row
//                 for each beginning that is searched beside the others
//   "next_words"  (encoded, is_word, told i32[N, U], last i32[]) -> f32[N,
//                 words]: the logarithms of the probabilities of the word
//                 behind place `last`
std::map<std::string, GraphFunctionRef> translator_functions(
    nn::SequenceToSequence& model, std::int64_t width);

// Translates for `weft predict`: sentences of `data`, whose words() are the
// source's and whose classes() the target's.
std::unique_ptr<Predictor> translate_sentences(const DataDescription& data,
                                               Translator translator);

}  // namespace weft
