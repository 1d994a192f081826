// weft eval CHECKPOINT: measures a trained model on a part of its data.
#include <CLI/CLI.hpp>
#include <cmath>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/parallel.h"
#include "weft/base/stopwatch.h"
#include "weft/train/evaluation.h"
#include "weft/train/trained_model.h"

namespace weft::cli {
namespace {

struct EvalArguments {
  std::string checkpoint;
  std::string data;
  std::string split = "test";
  bool as_json = false;
  int threads = 0;
};

DatasetRef split_of(const TrainedModel& trained, const std::string& split) {
  const DatasetSplits& data = trained.assembly.data;
  const DatasetRef& chosen = split == "train"   ? data.train
                             : split == "valid" ? data.valid
                                                : data.test;
  if (!chosen) {
    throw Error(ErrorCode::kInvalidArgument, "eval",
                "the data '{}' has no part '{}'", trained.recipe.data.name,
                split);
  }
  return chosen;
}

double metric(const TrainedModel& trained, const char* name) {
  // Not every checkpoint has every metric.
  const auto found = trained.info.metrics.find(name);
  return found == trained.info.metrics.end() ? kNotMeasured : found->second;
}

void eval(const EvalArguments& arguments) {
  // The number is set before anything is computed.
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  TrainedModel trained = load_trained(arguments.checkpoint, arguments.data);
  Evaluation evaluation(
      trained.model(), trained.assembly.task,
      split_of(trained, arguments.split), eval_loading(trained.recipe),
      trained.recipe.train.dtype, tagged_options(trained.recipe.train));
  // Loading is not timed, only measuring.
  const Stopwatch watch;
  const RunningMean mean = evaluation.run();
  const Scores scores{mean.loss(), mean.accuracy()};
  const double seconds = watch.seconds();
  const auto examples = evaluation.examples();
  if (arguments.as_json) {
    // A run is called as its folder is.
    const std::string folder = trained.recipe.log.folder;
    Json json = report_of(
        std::filesystem::path(folder).filename().string(),
        // The checkpoint says what training measured; only the scores are new.
        {.steps = trained.info.step,
         .epochs =
             static_cast<std::int64_t>(metric(trained, "epochs_measured")),
         .seconds = seconds,
         .train_loss = metric(trained, "train_loss"),
         .test = scores,
         .best_epoch = static_cast<std::int64_t>(metric(trained, "best_epoch")),
         .samples_per_s = static_cast<double>(examples) / seconds,
         .traffic = {},
         .checkpoint = trained.path});
    json["split"] = arguments.split;
    json["examples"] = examples;
    print_json(json);
    return;
  }
  const std::string score =
      // A language model is judged by its perplexity, the exponential of its
      // loss.
      trained.assembly.task == TaskKind::kLanguageModel
          ? fmt::format("perplexity {:.2f}", std::exp(scores.loss))
          : fmt::format("accuracy {:.4f}", scores.accuracy);
  fmt::print("{} ({})  {} examples  loss {:.4f}  {}  {:.2f} s\n",
             trained.recipe.data.name, arguments.split, grouped(examples),
             scores.loss, score, seconds);
}

}  // namespace

void add_eval(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("eval", "Measure a trained model");
  auto arguments = std::make_shared<EvalArguments>();
  verb->add_option("CHECKPOINT", arguments->checkpoint,
                   "a .safetensors file, or the folder of a run")
      ->required();
  verb->add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb->add_option("--split", arguments->split, "test, valid or train")
      ->check(CLI::IsMember({"test", "valid", "train"}));
  verb->add_flag("--json", arguments->as_json, "print one JSON object");
  verb->add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb->callback([arguments] { eval(*arguments); });
}

}  // namespace weft::cli
