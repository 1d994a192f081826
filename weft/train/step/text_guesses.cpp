#include "weft/train/step/text_guesses.h"

#include <fmt/ranges.h>

#include "weft/data/text.h"
#include "weft/train/step/row_predictor.h"

namespace weft {
namespace {

class TextGuesses final : public Predictor {
 public:
  explicit TextGuesses(const PredictorContext& context)
      : data_(context.data),
        vocabulary_(context.data.words()),
        predict_(context.functions(kPredictFunction)) {}

  Prediction predict(const PredictorInput& input) override {
    const std::string text = sentence_of(input);
    const auto words = split_words(text);
    if (words.empty()) {
      throw Error(ErrorCode::kInvalidArgument, "predict",
                  "the text has no words");
    }
    const Tensor numbers = Tensor::empty({DType::kI32, {1, std::ssize(words)}});
    std::vector<std::string_view> unknown;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::int32_t number = vocabulary_.find(words[i]);
      if (number < 0) {
        unknown.push_back(words[i]);
        number = vocabulary_.find(kUnknownWord);
      }
      numbers.data<std::int32_t>()[i] = number;
    }
    const Tensor probabilities = predict_(std::vector{numbers}).at(0);
    RowAnswer answer = tell_class(data_.classes(), probabilities.span<float>());
    Prediction result;
    result.lines.push_back(std::move(answer.text));
    if (!unknown.empty()) {
      result.lines.push_back(fmt::format("words that it does not know: {}",
                                         fmt::join(unknown, ", ")));
    }
    result.json = std::move(answer.json);
    result.json["unknown"] = unknown;
    return result;
  }

 private:
  const DataDescription& data_;
  Vocabulary vocabulary_;
  ModelFunction predict_;
};

}  // namespace

std::unique_ptr<Predictor> guess_classes_of_texts(
    const PredictorContext& context) {
  return std::make_unique<TextGuesses>(context);
}

}  // namespace weft
