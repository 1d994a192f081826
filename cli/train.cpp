// weft train RECIPE: trains, with progress and checkpoints.
#include <CLI/CLI.hpp>
#include <cmath>
#include <csignal>
#include <fmt/core.h>

#include "cli/progress.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/parallel.h"

namespace weft::cli {
namespace {

struct Arguments {
  std::string recipe;
  std::vector<std::string> overrides;
  std::string data;
  std::string out;
  bool is_resumed = false;
  bool as_json = false;
  bool check_numerics = false;
  int threads = 0;
};

std::atomic<bool> stop_requested = false;

// The first Ctrl-C ends the run with a checkpoint; the second one ends it.
extern "C" void request_stop(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

Recipe recipe_of(const Arguments& arguments) {
  Recipe recipe = load_recipe(arguments.recipe, arguments.overrides);
  if (!arguments.data.empty()) {
    recipe.data.folder = std::filesystem::absolute(arguments.data).string();
  }
  if (!arguments.out.empty()) recipe.log.folder = arguments.out;
  if (arguments.check_numerics) recipe.train.check_numerics = true;
  return recipe;
}

void print_summary(const TrainResult& result, Task task) {
  const std::string score =
      task == Task::kLanguageModel
          ? fmt::format("best perplexity {:.1f}", std::exp(result.test.loss))
          : fmt::format("best accuracy {:.4f}", result.test.accuracy);
  fmt::print("{} at epoch {}   checkpoint {}   {:.1f} s\n", score,
             result.best_epoch, result.checkpoint.string(), result.seconds);
}

// The command to type now.
std::string next_command(const Recipe& recipe, const TrainResult& result) {
  const std::string checkpoint = shell_word(result.checkpoint.string());
  if (recipe.data.name == "digits") {
    return fmt::format("weft predict {} data/digits/sample.png", checkpoint);
  }
  return fmt::format("weft eval {}", checkpoint);
}

void train(const Arguments& arguments) {
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  const Recipe recipe = recipe_of(arguments);
  const std::string name = std::filesystem::path(arguments.recipe).stem();
  Trainer trainer(recipe, {.name = name,
                           .is_resumed = arguments.is_resumed,
                           .stop = &stop_requested});
  std::signal(SIGINT, request_stop);
  std::signal(SIGTERM, request_stop);
  TrainResult result;
  {
    Progress progress;
    result = trainer.run(progress);
  }
  if (arguments.as_json) {
    print_json(report_of(name, result));
    return;
  }
  print_summary(result, model_registry().get(recipe.model.name).task);
  fmt::print("next: {}\n", next_command(recipe, result));
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("train", "Train what a recipe describes");
  auto arguments = std::make_shared<Arguments>();
  verb->add_option("RECIPE", arguments->recipe, "a TOML file")->required();
  verb->add_option("--set", arguments->overrides,
                   "change a key of the recipe: --set optimizer.lr=0.1")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE");
  verb->add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb->add_option("--out", arguments->out,
                   "folder of checkpoints and metrics (runs/RECIPE)")
      ->type_name("DIR");
  verb->add_flag("--resume", arguments->is_resumed,
                 "continue from the last checkpoint");
  verb->add_flag("--json", arguments->as_json,
                 "print one JSON object, and nothing else on standard output");
  verb->add_flag("--check-numerics", arguments->check_numerics,
                 "find the op in which NaN or infinity first appears (slow)");
  verb->add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb->callback([arguments] { train(*arguments); });
}

}  // namespace weft::cli
