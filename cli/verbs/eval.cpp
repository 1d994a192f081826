// weft eval MODEL: measures a trained model on a part of its data.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/serving.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"
#include "weft/train/model_in_use.h"

namespace weft::cli {
namespace {

struct EvalArguments {
  std::string model;
  std::string data;
  ServingArguments serving;
  std::string split = "test";
  bool as_json = false;
  int threads = 0;
};

DataPart part_of(ModelInUse& model, const std::string& split) {
  const DataPart part = data_part(split);
  if (model.data().has(part)) return part;
  throw Error(ErrorCode::kInvalidArgument, "eval",
              "the data '{}' has no part '{}'", model.recipe().data.name,
              split);
}

double metric(const ModelInUse& model, const char* name) {
  // Not every checkpoint has every metric.
  const auto found = model.info().metrics.find(name);
  return found == model.info().metrics.end() ? kNotMeasured : found->second;
}

void eval(const EvalArguments& arguments) {
  // The number is set before anything is computed.
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  const auto model = open_model(
      arguments.model, {.data_folder = arguments.data,
                        .recurrent_weights = arguments.serving.weights()});
  const DataPart part = part_of(*model, arguments.split);
  auto source = model->data().measure(part, Shard());
  const std::int64_t examples = source->examples_per_epoch();
  const auto evaluate = model->evaluation(std::move(source));
  // Loading is not timed, only measuring.
  const Stopwatch watch;
  Scores scores(model->task().metrics(), evaluate());
  const auto predicted = model->task().score_predictions(
      model->context(), *model->data().measure(part, Shard()));
  for (const auto& [metric, value] : predicted) scores.set(metric.name, value);
  const double seconds = watch.seconds();
  if (arguments.as_json) {
    // A run is called as its folder is.
    const std::string folder = model->recipe().log.folder;
    Json json = report_of(
        std::filesystem::path(folder).filename().string(),
        // The checkpoint says what training measured; only the scores are new.
        {.steps = model->info().step,
         .epochs = static_cast<std::int64_t>(metric(*model, "epochs_measured")),
         .seconds = seconds,
         .train_loss = metric(*model, "train_loss"),
         .test = scores,
         .predicted = predicted,
         .deciding = {},
         .best_epoch = static_cast<std::int64_t>(metric(*model, "best_epoch")),
         .samples_per_s = static_cast<double>(examples) / seconds,
         .traffic = {},
         .simulated = {},
         .checkpoint = model->path()});
    json["split"] = arguments.split;
    json["examples"] = examples;
    print_json(json);
    return;
  }
  std::string text;
  for (const MetricDef& metric : model->task().metrics()) {
    text += "  " + metric_text(metric, scores);
  }
  for (const PredictionScore& score : predicted) {
    text += "  " + metric_text(score.metric, scores);
  }
  fmt::print("{} ({})  {} examples{}  {:.2f} s\n", model->recipe().data.name,
             arguments.split, grouped(examples), text, seconds);
}

void add_eval(CLI::App& verb) {
  auto arguments = std::make_shared<EvalArguments>();
  verb.add_option("MODEL", arguments->model,
                  "what weft export wrote, a checkpoint, or the folder of a "
                  "run")
      ->required();
  verb.add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb.add_option("--split", arguments->split, "test, valid or train")
      ->check(CLI::IsMember({"test", "valid", "train"}));
  add_serving_options(verb, arguments->serving);
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb.callback([arguments] { eval(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_eval(cli::VerbRegistry& verbs) {
  verbs.add({.name = "eval",
             .summary = "Measure a trained model",
             .order = 20,
             .add = cli::add_eval});
}

}  // namespace weft
