// A Transformer that reads whole texts and classifies them by their first token
// (Devlin et al., "BERT: Pre-training of deep bidirectional Transformers for
// language understanding", 2019). As it stands it is BERT-base; texts are of
// one segment.
#include "weft/nn/model.h"
#include "weft/nn/transformer.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// Tokens [batch, length] to logits [batch, classes].
class Bert : public nn::Layer {
 public:
  Bert(const ModelInput& input, std::int64_t width, double dropout,
       nn::Sequential layers)
      : embedding_(
            child("embedding",
                  nn::TokenEmbedding{input.words, input.example[0], width})),
        norm_(child("norm", nn::LayerNorm{width})),
        dropout_(child("dropout", nn::Dropout{dropout})),
        layers_(child("layers", std::move(layers))),
        pooler_(child("pooler", nn::Linear{width, width})),
        classifier_(child("classifier", nn::Linear{width, input.classes})) {}

 protected:
  Value forward(const Value& tokens) override {
    const Value y = layers_(dropout_(norm_(embedding_(tokens))));
    const Shape& shape = y.shape();
    // The first token stands for the text: attention has let it read all
    // others.
    const Value first = reshape(slice_axis(y, 1, 0, 1), {shape[0], shape[2]});
    return classifier_(tanh(pooler_(first)));
  }

 private:
  nn::TokenEmbedding& embedding_;
  nn::LayerNorm& norm_;
  nn::Dropout& dropout_;
  nn::Sequential& layers_;
  nn::Linear& pooler_;
  nn::Linear& classifier_;
};

std::unique_ptr<nn::Module> build_bert(const ModelInput& input,
                                       const Options& options) {
  require_words("model bert", input);
  const auto width = option<std::int64_t>(options, "width");
  const auto dropout = option<double>(options, "dropout");
  return std::make_unique<Bert>(
      input, width, dropout,
      nn::transformer_layers(option<std::int64_t>(options, "layers"), width,
                             option<std::int64_t>(options, "heads"),
                             {.dropout = dropout}));
}

}  // namespace

void register_model_bert(ModelRegistry& models) {
  models.add(
      {.name = "bert",
       .summary = "Transformer that classifies a row of tokens",
       .task = "classification",
       .options = {{"layers", std::int64_t{12}, "Transformer layers",
                    kAtLeastOne},
                   {"width", std::int64_t{768}, "numbers per token",
                    kAtLeastOne},
                   {"heads", std::int64_t{12}, "of a layer", kAtLeastOne},
                   {"dropout", 0.0, "of tokens and of each layer", kBelowOne}},
       .takes_words = true,
       .build = build_bert});
}

}  // namespace weft
