// Finds what a trained model makes of a sequence, word by word, by beam search.
//
// Threads: caller synchronises.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "weft/nn/sequence_to_sequence.h"
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

  // The model is trained, and outlives this. Its numbers may change between
  // calls of translate().
  Translator(nn::SequenceToSequence& model, const TranslatorOptions& options,
             DType dtype);

  // The hypotheses for each source, the best first. Sources end with <eos>
  // (data/parallel_text.h); translations have neither <bos> nor <eos>, and no
  // <unk>. Sentences of like lengths are searched together.
  std::vector<std::vector<Hypothesis>> translate(
      const std::vector<Sentence>& sources);

 private:
  std::vector<std::vector<Hypothesis>> translate_group(
      const std::vector<const Sentence*>& sources);
  void stage_decoder(const Value& encoded);

  nn::SequenceToSequence& model_;
  TranslatorOptions options_;
  DType dtype_;
  // (source i32[N, T]) to what is known of it, one row for each beginning.
  std::function<std::vector<Value>(const Value& source)> encode_;
  // (encoded, is_word, told i32[N, U], last i32[]) to the logarithms of the
  // probabilities of the word behind place `last`, f32[N, words].
  std::function<Value(const Value&, const Value&, const Value&, const Value&)>
      next_;
};

// Translates for `weft predict`: sentences of `data`, whose words() are the
// source's and whose classes() the target's.
std::unique_ptr<Predictor> translate_sentences(const DataDescription& data,
                                               Translator translator);

}  // namespace weft
