#include "weft/nn/embedding.h"

#include "weft/nn/layer_def.h"
#include "weft/nn/transformer.h"

namespace weft {
namespace {

std::unique_ptr<nn::Layer> make_embedding(const ModelInput& input,
                                          const Options& options) {
  auto words = option<std::int64_t>(options, "words");
  // A task on running text tells words, so that its classes are the words that
  // arrive.
  if (words == 0) words = input.words > 0 ? input.words : input.classes;
  if (words == 0) {
    throw Error(ErrorCode::kInvalidArgument, "embedding",
                "words = 0 stands for those of the data, which has none")
        .hint("embedding(64, words=10000)");
  }
  const auto width = option<std::int64_t>(options, "width");
  if (!option<bool>(options, "positions")) {
    return std::make_unique<nn::Embedding>(words, width);
  }
  return std::make_unique<nn::TokenEmbedding>(words, input.example[0], width);
}

}  // namespace

void register_layer_embedding(LayerRegistry& layers) {
  layers.add(
      {.name = "embedding",
       .summary = "a vector for each word, which is learnt",
       .takes = "[steps] of words",
       .makes = "[steps, width]",
       .rank = 1,
       .takes_indices = true,
       .options = {{"width", std::int64_t{128}, "numbers of a vector",
                    kLayerSizes},
                   {"words", std::int64_t{0},
                    "that are told apart; 0: those of the data",
                    kLayerSizesOrNone},
                   {"positions", false, "adds a vector for each position"}},
       .make = make_embedding});
}

}  // namespace weft
