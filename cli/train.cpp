// weft train RECIPE: trains, with progress and checkpoints.
#include <CLI/CLI.hpp>
#include <csignal>
#include <fmt/core.h>

#include "cli/progress.h"
#include "cli/recipe_help.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/parallel.h"
#include "weft/comm/transport/launcher.h"
#include "weft/comm/transport/thread.h"

namespace weft::cli {
namespace {

struct TrainArguments {
  std::string help;  // a key of recipes
  std::string recipe;
  std::vector<std::string> overrides;
  std::string data;
  std::string out;
  bool is_resumed = false;
  bool as_json = false;
  bool check_numerics = false;
  int patience = -1;  // below 0: as the recipe says
  int threads = 0;
  int workers = 0;  // 0: one, or as many as mpirun started
};

// A signal handler may touch little else than a lock-free atomic.
std::atomic<bool> stop_requested = false;

// What SIGTERM did before: where a launcher has started this process, the
// network notices that others are lost.
using SignalHandler = void (*)(int);
SignalHandler network_termination = SIG_DFL;

// The first Ctrl-C ends the run with a checkpoint; the second one ends it.
extern "C" void request_stop(int signal) {
  stop_requested = true;
  const bool is_the_networks = signal == SIGTERM &&
                               network_termination != SIG_DFL &&
                               network_termination != SIG_IGN;
  if (is_the_networks) {
    network_termination(signal);
  } else {
    std::signal(signal, SIG_DFL);
  }
}

Recipe recipe_of(const TrainArguments& arguments) {
  Recipe recipe = load_recipe(arguments.recipe, arguments.overrides);
  if (!arguments.data.empty()) {
    // The checkpoint keeps the recipe, and may be opened from another folder.
    recipe.data.folder = std::filesystem::absolute(arguments.data).string();
  }
  if (!arguments.out.empty()) recipe.log.folder = arguments.out;
  if (arguments.check_numerics) recipe.train.check_numerics = true;
  if (arguments.patience >= 0) recipe.train.patience = arguments.patience;
  return recipe;
}

void print_summary(const TrainResult& result) {
  std::string predicted;
  for (const PredictionScore& score : result.predicted) {
    predicted += "   " + metric_text(score.metric, result.test);
  }
  fmt::print("best {} at epoch {}{}   checkpoint {}   {:.1f} s\n",
             metric_text(result.deciding, result.test), result.best_epoch,
             predicted, result.checkpoint.string(), result.seconds);
}

// What the network of the first worker did in a mean step.
void print_traffic(const StepTraffic& t) {
  // Where nothing was sent, nothing was waited for.
  const double hidden =
      t.wire_seconds > 0 ? 100 * t.hidden_seconds / t.wire_seconds : 100;
  fmt::print(
      "a step: {:.1f} ms, {} sent, {} received, {:.1f} ms on the wire, {:.0f} "
      "% "
      "of it hidden behind computing\n",
      1e3 * t.seconds, bytes_text(t.bytes_sent), bytes_text(t.bytes_received),
      1e3 * t.wire_seconds, hidden);
}

// The command to type now.
std::string next_command(const Recipe& recipe, const TrainResult& result) {
  const std::string checkpoint = shell_word(result.checkpoint.string());
  if (recipe.data.name == "digits") {
    return fmt::format("weft predict {} data/digits/sample.png", checkpoint);
  }
  return fmt::format("weft eval {}", checkpoint);
}

std::string name_of(const TrainArguments& arguments) {
  return std::filesystem::path(arguments.recipe).stem();
}

// One worker's run, alone or with others behind `transport`.
TrainResult run_worker(const TrainArguments& arguments, const Recipe& recipe,
                       Transport* transport) {
  Trainer trainer(recipe, {.name = name_of(arguments),
                           .is_resumed = arguments.is_resumed,
                           .stop = &stop_requested,
                           .transport = transport});
  if (transport != nullptr && transport->rank() != 0) {
    // One rank shows the progress of all.
    TrainObserver silent;
    return trainer.run(silent);
  }
  Progress progress;
  return trainer.run(progress);
}

// Workers that are threads of this process share its compute threads.
TrainResult run_threads(const TrainArguments& arguments, const Recipe& recipe) {
  const int compute_threads = thread_count();
  ThreadWorld world(arguments.workers);
  TrainResult result;
  world.run([&](Transport& transport) {
    // The threads of all workers together are those that one would have.
    set_thread_count(std::max(1, compute_threads / arguments.workers));
    const TrainResult own = run_worker(arguments, recipe, &transport);
    if (transport.rank() == 0) result = own;
  });
  return result;
}

// Throws Error(kInvalidArgument) for --workers under mpirun.
void refuse_both(const TrainArguments& arguments, const Transport& launched) {
  if (arguments.workers == 0) return;
  throw Error(ErrorCode::kInvalidArgument, "--workers",
              "this is one of {} processes that a launcher started",
              launched.size())
      .hint("leave out --workers: each process is a worker");
}

// Runs this process's part of a launched job, with its share of the machine's
// threads unless the user gave a number. The first process says what went
// wrong; the others only when it is the first that is missing.
TrainResult run_launched(const TrainArguments& arguments, const Recipe& recipe,
                         Transport& launched) {
  if (arguments.threads == 0) {
    // Processes on one host share its cores.
    int others = 0;
    for (int rank = 0; rank < launched.size(); ++rank) {
      const bool is_here =
          launched.host(rank) == launched.host(launched.rank());
      others += is_here && rank != launched.rank() ? 1 : 0;
    }
    set_thread_count(std::max(1, thread_count() / (1 + others)));
  }
  try {
    return run_worker(arguments, recipe, &launched);
  } catch (const Error& error) {
    if (launched.rank() == 0 || error.where() == "rank 0") throw;
    // All processes have failed for one reason; one of them tells it.
    throw Reported{error.code()};
  }
}

TrainResult run_workers(const TrainArguments& arguments, const Recipe& recipe,
                        Transport* launched) {
  if (launched != nullptr) return run_launched(arguments, recipe, *launched);
  return arguments.workers > 1 ? run_threads(arguments, recipe)
                               : run_worker(arguments, recipe, nullptr);
}

void train(const TrainArguments& arguments) {
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  if (const std::string warning = launch_warning(); !warning.empty()) {
    fmt::print(stderr, "weft: {}\n", warning);
  }
  const std::unique_ptr<Transport> launched = open_launched_transport();
  if (launched) refuse_both(arguments, *launched);
  const Recipe recipe = recipe_of(arguments);
  // Until here a signal ends the process as usual: there is nothing to save.
  std::signal(SIGINT, request_stop);
  // The transport is open by now and has its handler, which is kept to be
  // called.
  network_termination = std::signal(SIGTERM, request_stop);
  const TrainResult result = run_workers(arguments, recipe, launched.get());
  // All ranks have the same result; the first one prints it.
  if (launched && launched->rank() != 0) return;
  if (arguments.as_json) {
    print_json(report_of(name_of(arguments), result));
    return;
  }
  print_summary(result);
  if (result.traffic) print_traffic(*result.traffic);
  fmt::print("next: {}\n", next_command(recipe, result));
}

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* verb = app.add_subcommand("train", "Train what a recipe describes");
  auto arguments = std::make_shared<TrainArguments>();
  // The verb's own help, or that of a key of recipes: a key asks for no recipe.
  verb->set_help_flag();
  verb->add_option("-h,--help", arguments->help,
                   "print this, or what a key of recipes means: --help "
                   "train.batch, --help optimizer, --help recipe")
      ->expected(0, 1)
      ->type_name("[KEY]");
  verb->add_option("RECIPE", arguments->recipe, "a TOML file");
  // CLI11 would otherwise take following words for further values.
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
                 "find the op in which NaN or infinity first appears, or an "
                 "index lies outside of its axis (slow)");
  verb->add_option("--patience", arguments->patience,
                   "end when held-out data have not become better for so many "
                   "epochs; 0: never")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("EPOCHS");
  verb->add_option("--workers", arguments->workers,
                   "train with as many workers, threads of this process; "
                   "mpirun and srun start them as processes")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb->callback([verb, arguments] {
    if (verb->count("--help") > 0) {
      if (arguments->help.empty()) throw CLI::CallForHelp();
      return print_recipe_help(arguments->help, arguments->as_json);
    }
    if (arguments->recipe.empty()) throw CLI::RequiredError("RECIPE");
    train(*arguments);
  });
}

}  // namespace weft::cli
