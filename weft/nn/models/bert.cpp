// A Transformer that reads whole texts and classifies them by their first token
// (Devlin et al., "BERT: Pre-training of deep bidirectional Transformers for
// language understanding", 2019). As it stands it is BERT-base; texts are of
// one segment, and token 0 is padding, which nobody looks at.
#include "weft/nn/model.h"
#include "weft/nn/transformer.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"

namespace weft {
namespace {

// Tokens [batch, length] to logits [batch, classes].
class Bert : public nn::Layer {
 public:
  Bert(const ModelInput& input, std::int64_t layers, std::int64_t width,
       std::int64_t heads, double dropout)
      : embedding_(
            child("embedding",
                  nn::TokenEmbedding{input.words, input.example[0], width})),
        norm_(child("norm", nn::LayerNorm{width})),
        dropout_(child("dropout", nn::Dropout{dropout})),
        layers_(layers_of(child("layers", nn::Sequential{}), layers, width,
                          heads, dropout)),
        pooler_(child("pooler", nn::Linear{width, width})),
        classifier_(child("classifier", nn::Linear{width, input.classes})) {}

 protected:
  Value forward(const Value& tokens) override {
    const Value mask = seen(tokens);
    Value y = dropout_(norm_(embedding_(tokens)));
    for (const auto& layer : layers_) y = (*layer)(y, mask);
    const Shape& shape = y.shape();
    // The first token stands for the text: attention has let it read all
    // others.
    const Value first = reshape(slice_axis(y, 1, 0, 1), {shape[0], shape[2]});
    return classifier_(tanh(pooler_(first)));
  }

 private:
  using Layers = std::vector<std::shared_ptr<nn::TransformerLayer>>;

  static Layers layers_of(nn::Sequential& all, std::int64_t count,
                          std::int64_t width, std::int64_t heads,
                          double dropout) {
    Layers layers;
    for (std::int64_t i = 0; i < count; ++i) {
      layers.push_back(std::make_shared<nn::TransformerLayer>(
          width, heads, nn::TransformerLayerOptions{.dropout = dropout}));
      all.add(layers.back());
    }
    return layers;
  }

  // [batch, length] as a mask over the keys of all heads and queries. The first
  // token is there also in a text without any.
  static Value seen(const Value& tokens) {
    const Shape& shape = tokens.shape();
    const Value is_first = equal(iota(shape[1]), scalar(0, DType::kI64));
    const Value is_word = not_equal(tokens, scalar_like(tokens, 0));
    return reshape(logical_or(is_word, is_first), {shape[0], 1, 1, shape[1]});
  }

  nn::TokenEmbedding& embedding_;
  nn::LayerNorm& norm_;
  nn::Dropout& dropout_;
  Layers layers_;
  nn::Linear& pooler_;
  nn::Linear& classifier_;
};

std::unique_ptr<nn::Module> build_bert(const ModelInput& input,
                                       const Options& options) {
  require_words("model bert", input);
  return std::make_unique<Bert>(input, option<std::int64_t>(options, "layers"),
                                option<std::int64_t>(options, "width"),
                                option<std::int64_t>(options, "heads"),
                                option<double>(options, "dropout"));
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
