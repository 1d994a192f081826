// A Transformer that reads one sequence and tells another (Vaswani et al.,
// "Attention is all you need", 2017), normalised before each part rather than
// behind it, so that it trains without a long warm-up (Xiong et al., "On layer
// normalization in the Transformer architecture", 2020). The words that it
// tells have one table for both ends of the decoder.
#include <cmath>

#include "weft/nn/embedding.h"
#include "weft/nn/model.h"
#include "weft/nn/positions.h"
#include "weft/nn/sequence_to_sequence.h"
#include "weft/nn/transformer_decoder.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

struct Seq2seqOptions {
  std::int64_t source_words;
  std::int64_t target_words;
  std::int64_t layers;
  std::int64_t width;
  std::int64_t heads;
  std::int64_t middle;
  double dropout;
};

class Seq2seq : public nn::SequenceToSequence {
 public:
  explicit Seq2seq(const Seq2seqOptions& options)
      : width_(options.width),
        source_(child("source", table(options.source_words, options.width))),
        target_(child("target", table(options.target_words, options.width))),
        source_dropout_(child("dropout_source", nn::Dropout{options.dropout})),
        target_dropout_(child("dropout_target", nn::Dropout{options.dropout})) {
    for (std::int64_t i = 0; i < options.layers; ++i) {
      encoder_.push_back(
          &child(fmt::format("encoder{}", i),
                 nn::TransformerLayer{options.width,
                                      options.heads,
                                      {.norm_first = true,
                                       .dropout = options.dropout,
                                       .middle = options.middle}}));
    }
    encoder_norm_ = &child("encoder_norm", nn::LayerNorm{options.width});
    for (std::int64_t i = 0; i < options.layers; ++i) {
      decoder_.push_back(
          &child(fmt::format("decoder{}", i),
                 nn::TransformerDecoderLayer{
                     options.width,
                     options.heads,
                     {.dropout = options.dropout, .middle = options.middle}}));
    }
    decoder_norm_ = &child("decoder_norm", nn::LayerNorm{options.width});
  }

  Value encode(const Value& source, const Value& is_word) override {
    Value rows = source_dropout_(embed(source_, source));
    const Value mask = keys(is_word);
    for (nn::TransformerLayer* layer : encoder_) rows = (*layer)(rows, mask);
    // With norms before each part, nothing has normalised the last sum.
    return (*encoder_norm_)(rows);
  }

  Value decode(const Value& encoded, const Value& is_word,
               const Value& told) override {
    Value rows = target_dropout_(embed(target_, told));
    const Value mask = keys(is_word);
    // Padding behind the words needs no mask: attention is causal.
    for (nn::TransformerDecoderLayer* layer : decoder_) {
      rows = (*layer)(rows, encoded, mask);
    }
    return (*decoder_norm_)(rows);
  }

  Value logits(const Value& rows) override { return target_.logits(rows); }

 private:
  // The table also makes the logits, of rows of unit variance: theirs is then
  // one as well.
  static nn::Embedding table(std::int64_t words, std::int64_t width) {
    return {words, width,
            nn::Init::normal(1 / std::sqrt(static_cast<double>(width)))};
  }

  Value embed(nn::Embedding& words, const Value& numbers) const {
    // The table starts with a deviation of 1 / √width, for the sake of the
    // logits; so words are brought to the size of the positions (Vaswani et
    // al., section 3.4).
    return words(numbers) * std::sqrt(static_cast<double>(width_)) +
           nn::sinusoidal_positions(numbers.shape()[1], width_);
  }

  // [N, T] as a mask over the keys of all heads and queries.
  static Value keys(const Value& is_word) {
    const Shape& shape = is_word.shape();
    return reshape(is_word, {shape[0], 1, 1, shape[1]});
  }

  std::int64_t width_;
  nn::Embedding& source_;
  nn::Embedding& target_;
  nn::Dropout& source_dropout_;
  nn::Dropout& target_dropout_;
  std::vector<nn::TransformerLayer*> encoder_;
  nn::LayerNorm* encoder_norm_;
  std::vector<nn::TransformerDecoderLayer*> decoder_;
  nn::LayerNorm* decoder_norm_;
};

std::unique_ptr<nn::Module> build_seq2seq(const ModelInput& input,
                                          const Options& options) {
  require_words("model seq2seq", input);
  return std::make_unique<Seq2seq>(
      Seq2seqOptions{.source_words = input.words,
                     .target_words = input.classes,
                     .layers = option<std::int64_t>(options, "layers"),
                     .width = option<std::int64_t>(options, "width"),
                     .heads = option<std::int64_t>(options, "heads"),
                     .middle = option<std::int64_t>(options, "middle"),
                     .dropout = option<double>(options, "dropout")});
}

}  // namespace

void register_model_seq2seq(ModelRegistry& models) {
  models.add(
      {.name = "seq2seq",
       .summary = "Transformer with encoder and decoder",
       .task = "sequence-to-sequence",
       .options = {{"layers", std::int64_t{3}, "of encoder and of decoder",
                    kAtLeastOne},
                   {"width", std::int64_t{256}, "numbers per word",
                    kAtLeastOne},
                   {"heads", std::int64_t{4}, "of a layer", kAtLeastOne},
                   {"middle", std::int64_t{0},
                    "numbers between the dense layers of a layer; 0: 4 width",
                    kNotNegative},
                   {"dropout", 0.0, "of words and of each layer", kBelowOne}},
       .takes_words = true,
       .build = build_seq2seq});
}

}  // namespace weft
