// Sentences to their translations, each word from the source and from the words
// before it, which while training are those of the reference.
#include "weft/nn/sequence_to_sequence.h"

#include <algorithm>
#include <cmath>

#include "weft/data/parallel_text.h"
#include "weft/nn/scope.h"
#include "weft/ops/arithmetic.h"
#include "weft/ops/compare.h"
#include "weft/ops/constant.h"
#include "weft/ops/loss.h"
#include "weft/ops/reduce.h"
#include "weft/ops/slice.h"
#include "weft/ops/unary.h"
#include "weft/train/step/bleu.h"
#include "weft/train/step/hits.h"
#include "weft/train/step/training_task.h"
#include "weft/train/step/translator.h"

namespace weft {
namespace {

class SequenceToSequence final : public TrainingTask {
 public:
  SequenceToSequence(double smoothing, const TranslatorOptions& search)
      : smoothing_(smoothing), search_(search) {}

  std::vector<MetricDef> metrics() const override {
    return {
        {.name = "loss"},
        {.name = "perplexity",
         .digits = 2,
         .of = [](const MeasureSums& sums) { return std::exp(sums.loss()); }},
        {.name = "accuracy", .measure = 1, .is_higher_better = true}};
  }
  std::string_view deciding_metric() const override { return "perplexity"; }
  std::string unit(const DataDescription&) const override {
    return "sentences";
  }

  std::optional<Refusal> declines(const DataDescription& data) const override {
    if (!data.words().empty() && !data.classes().empty() &&
        varying_axes(data.features()) == 2) {
      return std::nullopt;
    }
    return Refusal{in_quotes(data.name()),
                   "it has no sentences with translations", ""};
  }
  ModelInput model_input(const DataDescription& data) const override {
    return {.example = data.features()[0].type.shape,
            .classes = static_cast<std::int64_t>(data.classes().size()),
            .words = static_cast<std::int64_t>(data.words().size())};
  }

  // A batch is source i32[N, T] and target i32[N, U], which begins with <bos>
  // and ends with <eos>. The loss is the mean over words.
  Objective objective(nn::Module& model,
                      std::span<const Value> batch) const override {
    // The decoder is given every word but the last, and tells every word but
    // the first: so each place tells the word that follows.
    const Value target = slice_axis(batch[1], 1, 1, kToEnd);
    const Value logits =
        logits_of(model, batch[0], slice_axis(batch[1], 1, 0, -1));
    const Value is_word = is_no_padding(target);
    const Value weight = cast(is_word, DType::kF32);
    const Value count = sum(weight);
    const Value loss = sum(cross_entropy(logits, target) * weight);
    // No word has the number -1, so that padding is never right.
    const Value hits =
        count_hits(logits, where(is_word, target, scalar_like(target, -1)));
    return {smoothed(loss, logits, weight) / count,
            {{loss, count}, {hits, count}}};
  }

  CountPredictions count_predictions() const override {
    return [](std::span<const Tensor> batch) {
      const Tensor& target = batch[1];
      const auto paddings =
          std::ranges::count(target.span<std::int32_t>(), kPadding);
      // <bos> begins each sentence, and nobody predicts it.
      return static_cast<double>(target.size() - target.shape()[0] - paddings);
    };
  }

  // The source, and the words that are told already.
  std::size_t known_inputs() const override { return 2; }
  // The logarithm of the probability of each word behind each of these.
  std::vector<Value> prediction(nn::Module& model,
                                std::span<const Value> known) const override {
    return {log_softmax(logits_of(model, known[0], known[1]))};
  }

  std::map<std::string, GraphFunctionRef> functions(
      nn::Module& model) const override {
    return translator_functions(translating(model), search_.beam);
  }

  std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const override {
    return translate_sentences(context.data,
                               Translator(context.functions, search_));
  }

  std::vector<PredictionScore> score_predictions(
      const PredictorContext& context, BatchSource& source) const override {
    std::vector<Translator::Sentence> sources;
    std::vector<Translator::Sentence> references;
    // BLEU is of whole translations, which only a search makes; losses are of
    // single words.
    for (std::int64_t i = 0; i < source.batches_per_epoch(); ++i) {
      const Batch& batch = source.next();
      append_sentences(batch.tensors[0], sources);
      append_sentences(batch.tensors[1], references);
    }
    Translator search(context.functions, search_);
    const auto found = search.translate(sources);
    BleuCounts bleu;
    for (std::size_t i = 0; i < found.size(); ++i) {
      // What people wrote stands between <bos> and <eos>. A word that the
      // vocabulary lacks is <unk> there, which no translation has.
      bleu.add(found[i][0].words,
               std::span(references[i]).subspan(1, references[i].size() - 2));
    }
    return {{{.name = "bleu", .is_higher_better = true, .digits = 2},
             bleu.score()}};
  }

 private:
  static nn::SequenceToSequence& translating(nn::Module& model) {
    return model_as<nn::SequenceToSequence>(model, "sequence-to-sequence",
                                            "a model of sequence pairs");
  }
  static Value is_no_padding(const Value& words) {
    return not_equal(words, scalar_like(words, kPadding));
  }

  static Value logits_of(nn::Module& model, const Value& source,
                         const Value& told) {
    nn::SequenceToSequence& translator = translating(model);
    const Value is_word = is_no_padding(source);
    return nn::to_f32(translator.logits(
        translator.decode(translator.encode(source, is_word), is_word, told)));
  }

  // The cross entropy with a target that has 1 - smoothing of its weight at the
  // word and the rest on all words alike (Szegedy et al., "Rethinking the
  // Inception architecture for computer vision", 2016, section 7).
  Value smoothed(const Value& loss, const Value& logits,
                 const Value& weight) const {
    if (smoothing_ == 0) return loss;
    const Value alike = -sum(mean(log_softmax(logits), {-1}) * weight);
    return loss * (1 - smoothing_) + alike * smoothing_;
  }

  // The rows of i32[N, length] without the padding behind them.
  static void append_sentences(const Tensor& rows,
                               std::vector<Translator::Sentence>& sentences) {
    const auto length = static_cast<std::size_t>(rows.shape()[1]);
    const auto words = rows.span<std::int32_t>();
    for (std::size_t at = 0; at < words.size(); at += length) {
      const auto row = words.subspan(at, length);
      sentences.emplace_back(row.begin(), std::ranges::find(row, kPadding));
    }
  }

  double smoothing_;
  TranslatorOptions search_;
};

std::unique_ptr<TrainingTask> make_sequence_to_sequence(
    const Options& options) {
  return std::make_unique<SequenceToSequence>(
      option<double>(options, "smoothing"),
      TranslatorOptions{
          .beam = option<std::int64_t>(options, "beam"),
          .length_penalty = option<double>(options, "length_penalty")});
}

}  // namespace

void register_training_task_sequence_to_sequence(TrainingTaskRegistry& tasks) {
  tasks.add({.name = "sequence-to-sequence",
             .summary = "sentences to their translations",
             .options = {{"smoothing", 0.0,
                          "of the target: what all words share", kBelowOne},
                         {"beam", std::int64_t{4},
                          "beginnings that the search keeps; 1 is greedy",
                          kAtLeastOne},
                         {"length_penalty", 1.0,
                          "power of the length that scores are divided by",
                          kNotNegative}},
             .make = make_sequence_to_sequence});
}

}  // namespace weft
