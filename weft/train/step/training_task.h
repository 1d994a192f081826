// What a model is trained for: which data suit, what is minimised and measured,
// what a prediction is.
//
// A new task is one file in weft/train/tasks.
//
// Threads: immutable once fitted.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "weft/base/option_schema.h"
#include "weft/base/ranges.h"
#include "weft/base/refusal.h"
#include "weft/base/registry.h"
#include "weft/data/batch_source.h"
#include "weft/data/dataset.h"
#include "weft/nn/model.h"
#include "weft/runtime/jit/graph_function.h"
#include "weft/train/step/metrics.h"
#include "weft/train/step/objective.h"
#include "weft/train/step/predictor.h"

namespace weft {

class TrainingTask {
 public:
  virtual ~TrainingTask() = default;

  // The loss comes first.
  virtual std::vector<MetricDef> metrics() const = 0;
  // What an objective measures. Unless a task says more, these are the means
  // that its metrics tell, each called as the first that tells it.
  virtual std::vector<MeasureDef> measures() const;
  // The metric that decides which epoch is best, by name; equal ones are
  // decided by the loss.
  virtual std::string_view deciding_metric() const { return "loss"; }
  // What people call an example: "img", "rows".
  virtual std::string unit(const DataDescription& data) const = 0;

  // Why it cannot be trained on these data; nothing if it can.
  virtual std::optional<Refusal> declines(
      const DataDescription& data) const = 0;
  // Keeps what the objective must know of the data, which suits: the scale of
  // targets, which label is the positive one. Once, before what is below.
  virtual void fit(const DataDescription&) {}
  // What a model must know to be built for `data`, which suits.
  virtual ModelInput model_input(const DataDescription& data) const = 0;

  // Runs `model` on a batch, whose tensors are those of the data's features in
  // order. Throws Error(kInvalidArgument) for a model of another kind.
  virtual Objective objective(nn::Module& model,
                              std::span<const Value> batch) const = 0;
  // How many predictions the loss of a batch is the mean over, where that
  // depends on more than the number of examples, as on the words of sentences:
  // parts of a batch then count by these. Null: by their examples.
  using CountPredictions = double (*)(std::span<const Tensor> batch);
  virtual CountPredictions count_predictions() const { return nullptr; }
  // How many of the leading features are known when the rest is to be told.
  virtual std::size_t known_inputs() const { return 1; }
  // What the model makes of these.
  virtual std::vector<Value> prediction(nn::Module& model,
                                        std::span<const Value> known) const = 0;

  // What the model computes beside predictions, by name, for the two below:
  // staged in the mode and precision of the moment, it reads the model's values
  // as they are when it runs. A file of the model holds it too.
  virtual std::map<std::string, GraphFunctionRef> functions(
      nn::Module& model) const;

  // What sums over batches of one graph cannot tell, as the BLEU of
  // translations that are searched for: found from the predictions for all of
  // `source`, one epoch of it. Takes longer than the metrics do, and so is
  // asked for when training is done, of the best weights, and by `weft eval`.
  virtual std::vector<PredictionScore> score_predictions(
      const PredictorContext& context, BatchSource& source) const;

  // Makes what `weft predict` asks. Throws Error(kUnsupported) where there is
  // nothing that a person could give.
  virtual std::unique_ptr<Predictor> predictor(
      const PredictorContext& context) const;
};

struct TrainingTaskDef {
  std::string name;
  std::string summary;
  std::vector<OptionSpec> options = {};
  // Where its batches come from unless a recipe says so: of
  // weft/train/sources.
  std::string source = "loader";
  // `options` are complete, and what they may be.
  std::unique_ptr<TrainingTask> (*make)(const Options& options) = nullptr;
};

using TrainingTaskRegistry = Registry<TrainingTaskDef>;
// It is filled from the files of weft/train/tasks.
const TrainingTaskRegistry& training_task_registry();

// The named task with its options checked and completed.
std::unique_ptr<TrainingTask> make_task(std::string_view name,
                                        const Options& options = {});
// Throws Error(kInvalidArgument) where the task of that name declines the data.
void check_data(std::string_view name, const TrainingTask& task,
                const DataDescription& data);

// `model` as what a task needs it to be. Throws Error(kInvalidArgument) for a
// model of another kind, of which `what` is the name: "a model of trees".
template <class M>
M& model_as(nn::Module& model, std::string_view task, std::string_view what) {
  if (auto* found = dynamic_cast<M*>(&model)) return *found;
  throw refused("task", in_quotes(task),
                {"this model", fmt::format("it needs {}", what), ""});
}

}  // namespace weft
