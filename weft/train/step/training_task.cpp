#include "weft/train/step/training_task.h"

namespace weft {

std::vector<MeasureDef> TrainingTask::measures() const {
  std::vector<MeasureDef> measures;
  for (const MetricDef& metric : metrics()) {
    if (metric.measure >= measures.size()) measures.resize(metric.measure + 1);
    // The first of several metrics from one measure gives it its name.
    MeasureDef& measure = measures[metric.measure];
    if (measure.name.empty()) measure.name = metric.name;
  }
  return measures;
}

std::map<std::string, GraphFunctionRef> TrainingTask::functions(
    nn::Module&) const {
  return {};
}

std::vector<PredictionScore> TrainingTask::score_predictions(
    const PredictorContext&, BatchSource&) const {
  return {};
}

std::unique_ptr<Predictor> TrainingTask::predictor(
    const PredictorContext& context) const {
  throw Error(ErrorCode::kUnsupported, "predict",
              "a model of '{}' has nothing that a person could give it",
              context.data.name())
      .hint("weft eval measures it on its data");
}

void check_data(std::string_view name, const TrainingTask& task,
                const DataDescription& data) {
  if (const auto refusal = task.declines(data)) {
    throw refused("task", in_quotes(name), *refusal);
  }
}

std::unique_ptr<TrainingTask> make_task(std::string_view name,
                                        const Options& options) {
  const TrainingTaskDef& def = training_task_registry().get(name);
  return def.make(
      complete(def.options, options, fmt::format("task {}", def.name)));
}

}  // namespace weft
