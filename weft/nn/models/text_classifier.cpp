// Recurrent layers that read a text and classify it by what they end with: LSTM
// (Hochreiter and Schmidhuber, 1997) or simple recurrent units (Lei et al.,
// "Simple recurrent units for highly parallelizable recurrence", 2017, section
// 4.1).
#include "weft/base/error.h"
#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/padded_words.h"
#include "weft/nn/recurrent.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

// Words [batch, steps], padded by 0 behind their end, to logits
// [batch, classes].
template <class Cells>
class TextClassifier final : public nn::Layer {
 public:
  TextClassifier(const ModelInput& input, std::int64_t width,
                 std::int64_t hidden, const nn::RecurrentOptions& recurrent)
      : embedding_(child("embedding", nn::Embedding{input.words, width,
                                                    nn::Init::uniform(0.1)})),
        words_dropout_(child("dropout_in", nn::Dropout{recurrent.dropout})),
        cells_(child("recurrent", Cells{width, hidden, recurrent})),
        state_dropout_(child("dropout_out", nn::Dropout{recurrent.dropout})),
        classifier_(child("classifier", nn::Linear{hidden, input.classes})) {}

 protected:
  Value forward(const Value& words) override {
    // Recurrent layers take the steps first.
    const Value in_time = transpose(words, {1, 0});
    const Value states = cells_(words_dropout_(embedding_(in_time)));
    const Value is_word = not_equal(words, scalar_like(words, 0));
    return classifier_(state_dropout_(nn::at_last_word(states, is_word)));
  }

 private:
  nn::Embedding& embedding_;
  nn::Dropout& words_dropout_;
  Cells& cells_;
  nn::Dropout& state_dropout_;
  nn::Linear& classifier_;
};

template <class Cells>
std::unique_ptr<nn::Module> build_text_classifier(const ModelInput& input,
                                                  const Options& options) {
  require_words("model of texts", input);
  return std::make_unique<TextClassifier<Cells>>(
      input, option<std::int64_t>(options, "embedding"),
      option<std::int64_t>(options, "hidden"),
      nn::RecurrentOptions{.layers = option<std::int64_t>(options, "layers"),
                           .dropout = option<double>(options, "dropout")});
}

}  // namespace

void register_model_text_classifier(ModelRegistry& models) {
  const auto add = [&](const char* name, const char* summary, auto build) {
    models.add({.name = name,
                .summary = summary,
                .task = "classification",
                .options = {{"embedding", std::int64_t{128},
                             "numbers of a word", kAtLeastOne},
                            {"hidden", std::int64_t{128}, "units of a layer",
                             kAtLeastOne},
                            {"layers", std::int64_t{2}, "on top of each other",
                             kAtLeastOne},
                            {"dropout", 0.0, "around every layer", kBelowOne}},
                .takes_words = true,
                .build = build});
  };
  add("lstm-classifier", "LSTM layers that classify a text by their end",
      build_text_classifier<nn::Lstm>);
  add("sru-classifier",
      "simple recurrent units that classify a text by their end",
      build_text_classifier<nn::Sru>);
}

}  // namespace weft
