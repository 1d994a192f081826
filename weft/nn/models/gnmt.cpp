// A recurrent network that reads one sequence and tells another (Wu et al.,
// "Google's neural machine translation system", 2016, section 3): stacked LSTM
// on both sides, the first of the encoder in both directions, shortcuts from
// the third layer on, attention by the first layer of the decoder. As in the
// widely used version 2, what attention finds is given to all later layers of
// the decoder and not to the first: then each layer reads a whole sequence at
// a time.
#include <cmath>

#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/padded_words.h"
#include "weft/nn/recurrent.h"
#include "weft/nn/scope.h"
#include "weft/nn/sequence_to_sequence.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/join.h"
#include "weft/ops/loss.h"
#include "weft/ops/matmul.h"
#include "weft/ops/reduce.h"
#include "weft/ops/shape.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// Scores are g v/|v| . tanh(W q + W' k + b) (Bahdanau, Cho and Bengio, 2014,
// appendix A.1.2, with the normalised v of Luong, Brevdo and Zhao, 2017).
class AdditiveAttention final : public nn::Module {
 public:
  explicit AdditiveAttention(std::int64_t width)
      : query_(child("query", nn::Linear{width, width, {.bias = false}})),
        key_(child("key", nn::Linear{width, width, {.bias = false}})),
        direction_(parameter("direction", {width}, nn::Init::uniform(0.1))),
        scale_(parameter(
            "scale", {1},
            nn::Init::constant(1 / std::sqrt(static_cast<double>(width))))),
        bias_(parameter("bias", {width}, nn::Init::constant(0))) {}

  // For rows [N, U, width] the mean of encoded [N, T, width], by how well each
  // word fits.
  Value operator()(const Value& rows, const Value& encoded,
                   const Value& is_word) {
    const Shape& a = rows.shape();
    const Shape& b = encoded.shape();
    const Value queries = reshape(query_(rows), {a[0], a[1], 1, a[2]});
    const Value keys = reshape(key_(encoded), {b[0], 1, b[1], b[2]});
    const Value direction = nn::value_of(direction_);
    const Value v = direction * nn::value_of(scale_) *
                    rsqrt(sum(square(direction), {}, /*keep_dims=*/true));
    const Value fits =
        tanh(queries + keys + nn::to_compute(nn::value_of(bias_)));
    const Value scores = nn::to_f32(matmul(fits, nn::to_compute(v)));
    // No padding is looked at.
    const Value may_look = reshape(is_word, {b[0], 1, b[1]});
    const Value shares =
        softmax(where(may_look, scores, scalar_like(scores, -1e9)));
    return matmul(to_dtype(shares, encoded.dtype()), encoded);
  }

 private:
  nn::Linear& query_;
  nn::Linear& key_;
  nn::ParameterRef direction_;
  nn::ParameterRef scale_;
  nn::ParameterRef bias_;
};

struct GnmtOptions {
  std::int64_t source_words;
  std::int64_t target_words;
  std::int64_t layers;
  std::int64_t width;
  double dropout;
};

Value batch_first(const Value& x) { return transpose(x, {1, 0, 2}); }

class Gnmt final : public nn::SequenceToSequence {
 public:
  explicit Gnmt(const GnmtOptions& options)
      : source_(child("source", table(options.source_words, options.width))),
        target_(child("target", table(options.target_words, options.width))),
        forward_(child("encoder_forward", lstm(options.width, options.width))),
        backward_(
            child("encoder_backward", lstm(options.width, options.width))),
        first_(child("decoder0", lstm(options.width, options.width))),
        attention_(child("attention", AdditiveAttention{options.width})),
        classifier_(child("classifier",
                          nn::Linear{options.width, options.target_words})) {
    const std::int64_t width = options.width;
    for (std::int64_t i = 1; i < options.layers; ++i) {
      // The second of the encoder has both directions below it, and all of the
      // decoder have beside them what attention has found.
      encoder_.push_back(&child(fmt::format("encoder{}", i),
                                lstm(i == 1 ? 2 * width : width, width)));
      decoder_.push_back(
          &child(fmt::format("decoder{}", i), lstm(2 * width, width)));
    }
    for (const char* side : {"encoder", "decoder"}) {
      for (std::int64_t i = 0; i < options.layers; ++i) {
        dropouts_.push_back(&child(fmt::format("dropout_{}{}", side, i),
                                   nn::Dropout{options.dropout}));
      }
    }
  }

  Value encode(const Value& source, const Value& is_word) override {
    const auto drop = dropouts_.begin();
    const Value words = (*drop[0])(source_(transpose(source, {1, 0})));
    // What comes from behind begins at the last word.
    const Value back = nn::reverse_words(
        backward_(nn::reverse_words(words, is_word)), is_word);
    Value rows = concat(std::vector{forward_(words), back}, -1);
    for (std::size_t i = 0; i < encoder_.size(); ++i) {
      const Value y = (*encoder_[i])((*dropouts_[i + 1])(rows));
      // The first of these takes both directions, which no shortcut could add.
      rows = i == 0 ? y : y + rows;
    }
    return batch_first(rows);
  }

  Value decode(const Value& encoded, const Value& is_word,
               const Value& told) override {
    nn::Dropout* const* drop = &dropouts_[dropouts_.size() / 2];
    Value rows = first_((*drop[0])(target_(transpose(told, {1, 0}))));
    const Value found =
        batch_first(attention_(batch_first(rows), encoded, is_word));
    for (std::size_t i = 0; i < decoder_.size(); ++i) {
      const Value both = concat(std::vector{rows, found}, -1);
      const Value y = (*decoder_[i])((*drop[i + 1])(both));
      rows = i == 0 ? y : y + rows;
    }
    return batch_first(rows);
  }

  Value logits(const Value& rows) override { return classifier_(rows); }

 private:
  static nn::Embedding table(std::int64_t words, std::int64_t width) {
    return {words, width, nn::Init::uniform(0.1)};
  }
  static nn::Lstm lstm(std::int64_t inputs, std::int64_t width) {
    return {inputs, width};
  }

  nn::Embedding& source_;
  nn::Embedding& target_;
  nn::Lstm& forward_;
  nn::Lstm& backward_;
  nn::Lstm& first_;
  AdditiveAttention& attention_;
  nn::Linear& classifier_;
  std::vector<nn::Lstm*> encoder_;
  std::vector<nn::Lstm*> decoder_;
  std::vector<nn::Dropout*> dropouts_;  // the encoder's, then the decoder's
};

std::unique_ptr<nn::Module> build_gnmt(const ModelInput& input,
                                       const Options& options) {
  require_words("model gnmt", input);
  return std::make_unique<Gnmt>(
      GnmtOptions{.source_words = input.words,
                  .target_words = input.classes,
                  .layers = option<std::int64_t>(options, "layers"),
                  .width = option<std::int64_t>(options, "width"),
                  .dropout = option<double>(options, "dropout")});
}

}  // namespace

void register_model_gnmt(ModelRegistry& models) {
  models.add({.name = "gnmt",
              .summary = "stacked LSTM with attention on what an encoder read",
              .task = "sequence-to-sequence",
              .options = {{"layers",
                           std::int64_t{4},
                           "of encoder and of decoder",
                           {.least = 2}},
                          {"width", std::int64_t{1024}, "units of a layer",
                           kAtLeastOne},
                          {"dropout", 0.2, "below each layer", kBelowOne}},
              .takes_words = true,
              .build = build_gnmt});
}

}  // namespace weft
