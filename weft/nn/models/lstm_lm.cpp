// A word-level language model: embedding, stacked LSTM, dense output over the
// vocabulary (Zaremba, Sutskever and Vinyals, 2014, the small model). Its
// state runs on from one window of the text to the next.
#include "weft/nn/dropout.h"
#include "weft/nn/embedding.h"
#include "weft/nn/linear.h"
#include "weft/nn/model.h"
#include "weft/nn/recurrent.h"
#include "weft/ops/shape.h"

namespace weft {
namespace {

// Tokens [batch, steps] to logits [steps, batch, words].
class LstmLm : public nn::Layer {
 public:
  LstmLm(std::int64_t words, std::int64_t hidden, double dropout,
         const nn::RecurrentOptions& recurrent)
      : embedding_(child("embedding",
                         nn::Embedding{words, hidden, nn::Init::uniform(0.1)})),
        embedded_(child("dropout_in", nn::Dropout{dropout})),
        lstm_(child("lstm", nn::Lstm{hidden, hidden, recurrent})),
        read_(child("dropout_out", nn::Dropout{dropout})),
        decoder_(child("decoder", nn::Linear{hidden, words})) {}

 protected:
  Value forward(const Value& tokens) override {
    // Recurrent layers take the steps first: each step is then one block of
    // rows.
    const Value in_time = transpose(tokens, {1, 0});
    return decoder_(read_(lstm_(embedded_(embedding_(in_time)))));
  }

 private:
  nn::Embedding& embedding_;
  nn::Dropout& embedded_;
  nn::Lstm& lstm_;
  nn::Dropout& read_;
  nn::Linear& decoder_;
};

std::unique_ptr<nn::Module> build_lstm_lm(const ModelInput& input,
                                          const Options& options) {
  if (input.example.rank() != 1) {
    throw Error(ErrorCode::kInvalidArgument, "model lstm-lm",
                "an example is {}, but the model takes a row of tokens",
                to_string(input.example));
  }
  const auto dropout = option<double>(options, "dropout");
  return std::make_unique<LstmLm>(
      input.classes, option<std::int64_t>(options, "hidden"), dropout,
      nn::RecurrentOptions{.layers = option<std::int64_t>(options, "layers"),
                           .carried_batch = input.lanes,
                           .dropout = dropout});
}

}  // namespace

void register_model_lstm_lm(ModelRegistry& models) {
  models.add(
      {.name = "lstm-lm",
       .summary = "embedding, stacked LSTM, dense over the vocabulary",
       .task = "language-model",
       .options = {{"hidden", std::int64_t{200}, "units of a layer",
                    kAtLeastOne},
                   {"layers", std::int64_t{2}, "LSTM layers", kAtLeastOne},
                   {"dropout", 0.0, "around every LSTM layer", kBelowOne}},
       .build = build_lstm_lm});
}

}  // namespace weft
