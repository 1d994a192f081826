#include "weft/nn/model.h"

namespace weft {

std::unique_ptr<nn::Module> build_model(const ModelDef& def,
                                        const ModelInput& input,
                                        const Options& options) {
  // A model that took the numbers of categories for measurements would train
  // without a word, and badly.
  if (!input.categories.empty() && !def.takes_categories) {
    throw Error(ErrorCode::kInvalidArgument, "model " + def.name,
                "{} columns of the data are categories, of which it knows "
                "nothing",
                input.categories.size())
        .hint("model.name = \"mlp\", or name them in data.ignore");
  }
  if (input.words > 0 && !def.takes_words) {
    throw Error(ErrorCode::kInvalidArgument, "model " + def.name,
                "examples are rows of words, of which it knows nothing")
        .hint("model.name = \"lstm-classifier\" classifies texts");
  }
  return def.build(input, complete(def.options, options, "model " + def.name));
}

void require_image(std::string_view model, const ModelInput& input,
                   std::int64_t side) {
  const Shape& shape = input.example;
  // `side` is what the model's poolings divide by.
  if (shape.rank() == 3 && shape[0] >= side && shape[1] >= side) return;
  throw Error(ErrorCode::kInvalidArgument, model,
              "an example is {}, but the model takes images [height, width, "
              "channels] of at least {} x {}",
              to_string(shape), side, side);
}

void require_words(std::string_view model, const ModelInput& input) {
  if (input.example.rank() == 1 && input.words > 0 && input.classes > 0) return;
  throw Error(ErrorCode::kInvalidArgument, model,
              "an example is {} of {} words, but the model takes a row of "
              "words",
              to_string(input.example), input.words);
}

void require_trees(std::string_view model, const ModelInput& input) {
  const Shape& shape = input.example;
  if (shape.rank() != 2 || shape[1] != 2) {
    throw Error(ErrorCode::kInvalidArgument, model,
                "an example is {}, but the model takes trees: tables "
                "[nodes, 2]",
                to_string(shape));
  }
  if (input.words > 0) return;
  throw Error(ErrorCode::kInvalidArgument, model,
              "it is not said how many words there are")
      .hint("pass words, the size of the vocabulary");
}

}  // namespace weft
