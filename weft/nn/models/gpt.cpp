// A causal Transformer that predicts each next token (Radford et al., "Language
// models are unsupervised multitask learners", 2019). As it stands it is GPT-2
// small, with the exact GELU.
#include "weft/base/error.h"
#include "weft/nn/model.h"
#include "weft/nn/transformer.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

// Tokens [batch, length] to logits [length, batch, words].
class Gpt : public nn::Layer {
 public:
  Gpt(std::int64_t words, std::int64_t length, std::int64_t width,
      double dropout, nn::Sequential layers)
      : embedding_(
            child("embedding", nn::TokenEmbedding{words, length, width})),
        dropout_(child("dropout", nn::Dropout{dropout})),
        layers_(child("layers", std::move(layers))),
        norm_(child("norm", nn::LayerNorm{width})) {}

 protected:
  Value forward(const Value& tokens) override {
    const Value y = norm_(layers_(dropout_(embedding_(tokens))));
    // Objectives of language models take the steps first.
    return embedding_.words().logits(transpose(y, {1, 0, 2}));
  }

 private:
  nn::TokenEmbedding& embedding_;
  nn::Dropout& dropout_;
  nn::Sequential& layers_;
  nn::LayerNorm& norm_;
};

std::unique_ptr<nn::Module> build_gpt(const ModelInput& input,
                                      const Options& options) {
  if (input.example.rank() != 1) {
    throw Error(ErrorCode::kInvalidArgument, "model gpt",
                "an example is {}, but the model takes a row of tokens",
                to_string(input.example));
  }
  const auto width = option<std::int64_t>(options, "width");
  const auto dropout = option<double>(options, "dropout");
  return std::make_unique<Gpt>(
      input.classes, input.example[0], width, dropout,
      nn::transformer_layers(
          option<std::int64_t>(options, "layers"), width,
          option<std::int64_t>(options, "heads"),
          {.causal = true, .norm_first = true, .dropout = dropout}));
}

}  // namespace

void register_model_gpt(ModelRegistry& models) {
  models.add(
      {.name = "gpt",
       .summary = "causal Transformer with tied embeddings",
       .task = "language-model",
       .options = {{"layers", std::int64_t{12}, "Transformer layers",
                    kAtLeastOne},
                   {"width", std::int64_t{768}, "numbers per token",
                    kAtLeastOne},
                   {"heads", std::int64_t{12}, "of a layer", kAtLeastOne},
                   {"dropout", 0.0, "of tokens and of each layer", kBelowOne}},
       .build = build_gpt});
}

}  // namespace weft
