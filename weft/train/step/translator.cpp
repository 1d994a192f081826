#include "weft/train/step/translator.h"

#include <algorithm>
#include <numeric>

#include "weft/data/batch_order.h"
#include "weft/data/parallel_text.h"
#include "weft/nn/scope.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/index.h"
#include "weft/ops/loss.h"
#include "weft/ops/shape.h"
#include "weft/runtime/jit/jit.h"
#include "weft/tensor/symbol.h"

namespace weft {
namespace {

constexpr const char* kEncode = "encode";
constexpr const char* kNextWords = "next_words";

// Sources that are searched together: enough rows for large products.
constexpr std::size_t kGroup = 32;

// A translation has at most twice the words of its source, and some more.
std::int64_t most_words(std::int64_t source) { return 2 * source + 10; }

// Rows of `width` beginnings behind each other, where there was one.
Value repeat_rows(const Value& x, std::int64_t width) {
  Shape once = x.shape();
  Shape apart({once[0], 1});
  Shape repeated({once[0], width});
  for (const Dim dim : once.last(once.rank() - 1)) {
    apart.push_back(dim);
    repeated.push_back(dim);
  }
  once[0] = dim_multiply(once[0], width);
  return reshape(broadcast_to(reshape(x, apart), repeated), once);
}

class SentencePredictor final : public Predictor {
 public:
  SentencePredictor(const DataDescription& data, Translator translator)
      : source_(data.words()),
        target_(data.classes()),
        translator_(std::move(translator)) {}

  Prediction predict(const PredictorInput& input) override {
    const std::string sentence = sentence_of(input);
    const auto numbers = encode_sentence(source_, sentence);
    // The end of the sentence is one word.
    if (numbers.size() == 1) {
      throw Error(ErrorCode::kInvalidArgument, "predict",
                  "the sentence has no words");
    }
    const auto found = translator_.translate({numbers}).at(0);
    nlohmann::ordered_json beam = nlohmann::ordered_json::array();
    for (const Hypothesis& hypothesis : found) {
      beam.push_back({{"text", text_of(hypothesis)},
                      {"log_probability", hypothesis.log_probability},
                      {"score", hypothesis.score}});
    }
    Prediction result;
    result.lines = {text_of(found[0])};
    result.json = {{"source", sentence},
                   {"translation", text_of(found[0])},
                   {"beam", beam}};
    return result;
  }

 private:
  std::string text_of(const Hypothesis& hypothesis) const {
    std::string text;
    for (const std::int32_t word : hypothesis.words) {
      if (!text.empty()) text += ' ';
      text += target_[static_cast<std::size_t>(word)];
    }
    return text;
  }

  Vocabulary source_;
  std::vector<std::string> target_;
  Translator translator_;
};

}  // namespace

std::map<std::string, GraphFunctionRef> translator_functions(
    nn::SequenceToSequence& model, std::int64_t width) {
  const TensorType source{DType::kI32, {symbol("N"), symbol("T")}};
  // Sources are read once, and repeated for the beginnings that are searched
  // beside each other.
  const auto encode = jit(
      [&model, width](const Value& numbers) {
        const Value is_word =
            not_equal(numbers, scalar_like(numbers, kPadding));
        return std::vector{repeat_rows(model.encode(numbers, is_word), width),
                           repeat_rows(is_word, width)};
      },
      {.name = kEncode, .signature = std::vector{source}});
  const Tensor one_word = Tensor::zeros({DType::kI32, {1, 1}});
  // How wide an encoded word is shows only when there is one.
  const std::vector<Value> encoded = encode(one_word);
  const Dim rows = symbol("N");
  const Dim length = symbol("T");
  const std::vector<TensorType> signature = {
      {encoded[0].dtype(), {rows, length, encoded[0].shape().back()}},
      {DType::kBool, {rows, length}},
      {DType::kI32, {rows, symbol("U")}},
      {DType::kI32, {}}};
  const auto next = jit(
      [&model](const Value& source, const Value& is_word, const Value& told,
               const Value& last) {
        const Value place =
            // Only the last word's row asks for logits, which take more time
            // than all else.
            gather(model.decode(source, is_word, told), last, 1);
        return log_softmax(nn::to_f32(model.logits(place)));
      },
      {.name = kNextWords, .signature = signature});
  const Tensor told = Tensor::zeros({DType::kI32, {width, 1}});
  return {{kEncode, encode.graph(one_word)},
          {kNextWords, next.graph(encoded[0], encoded[1], told,
                                  Tensor::scalar(std::int32_t{0}))}};
}

Translator::Translator(const ModelFunctions& functions,
                       const TranslatorOptions& options)
    : options_(options),
      encode_(functions(kEncode)),
      next_(functions(kNextWords)) {}

std::vector<std::vector<Hypothesis>> Translator::translate(
    const std::vector<Sentence>& sources) {
  std::vector<std::size_t> order(sources.size());
  std::iota(order.begin(), order.end(), 0);
  // Sources of like length are searched together, so that little padding is
  // computed.
  std::ranges::stable_sort(order, {},
                           [&](std::size_t i) { return sources[i].size(); });
  std::vector<std::vector<Hypothesis>> found(sources.size());
  for (std::size_t begin = 0; begin < order.size(); begin += kGroup) {
    const std::size_t end = std::min(begin + kGroup, order.size());
    std::vector<const Sentence*> group;
    for (std::size_t i = begin; i < end; ++i) {
      group.push_back(&sources[order[i]]);
    }
    auto translated = translate_group(group);
    for (std::size_t i = begin; i < end; ++i) {
      found[order[i]] = std::move(translated[i - begin]);
    }
  }
  return found;
}

std::vector<std::vector<Hypothesis>> Translator::translate_group(
    const std::vector<const Sentence*>& sources) {
  // They come by length, so the last is the longest. Sizes are rounded so that
  // few plans serve all groups and all steps.
  const auto count = static_cast<Dim>(sources.size());
  const auto longest = std::ssize(*sources.back());
  const Dim padded = rounded_size(longest, longest * 2);
  // Zeros are kPadding.
  const Tensor source = Tensor::zeros({DType::kI32, {count, padded}});
  for (std::size_t i = 0; i < sources.size(); ++i) {
    std::ranges::copy(*sources[i], source.data<std::int32_t>() +
                                       static_cast<Dim>(i) * padded);
  }
  const std::vector<Tensor> encoded = encode_(std::vector{source});
  const BeamOptions options{.width = options_.beam,
                            .length_penalty = options_.length_penalty,
                            .most_words = most_words(longest),
                            .first_word = kSentenceBegin,
                            .last_word = kSentenceEnd,
                            .never = {kPadding, kSentenceBegin, kUnknown}};
  return beam_search(
      count, options,
      [&](std::span<const std::int32_t> told, std::int64_t length) {
        const Dim rows = count * options.width;
        const Dim room = rounded_size(length, options.most_words);
        const Tensor words = Tensor::zeros({DType::kI32, {rows, room}});
        for (Dim row = 0; row < rows; ++row) {
          std::copy_n(told.data() + row * length, length,
                      words.data<std::int32_t>() + row * room);
        }
        const auto last = static_cast<std::int32_t>(length - 1);
        return next_(std::vector{encoded[0], encoded[1], words,
                                 Tensor::scalar(last)})
            .at(0);
      });
}

std::unique_ptr<Predictor> translate_sentences(const DataDescription& data,
                                               Translator translator) {
  return std::make_unique<SentencePredictor>(data, std::move(translator));
}

}  // namespace weft
