#include "weft/train/step/predictor.h"

#include "weft/base/utf8.h"

namespace weft {
namespace {

constexpr std::size_t kMostSentenceBytes = std::size_t{64} << 20;

}  // namespace

std::string sentence_of(const PredictorInput& input) {
  if (!input.file) return input.text;
  if (input.file->size() > kMostSentenceBytes) {
    throw Error(ErrorCode::kExhausted, input.text,
                "more than {} bytes of text at once", kMostSentenceBytes);
  }
  std::string text(input.file->begin(), input.file->end());
  if (!is_utf8(text)) {
    throw Error(ErrorCode::kDataLoss, input.text, "is no text in UTF-8")
        .hint("the model takes a text, or a file of one");
  }
  text.erase(text.find_last_not_of("\r\n") + 1);
  return text;
}

Prediction predict_typed(Predictor& predictor, const std::string& typed) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(typed, ignored)) {
    return predictor.predict({typed});
  }
  const MappedFile file(typed);
  return predictor.predict({typed, file.bytes()});
}

}  // namespace weft
