// weft train RECIPE: trains, with progress and checkpoints; several runs at
// once where a key of the recipe has several values.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/progress.h"
#include "cli/ranks.h"
#include "cli/recipe_help.h"
#include "cli/report.h"
#include "cli/stop.h"
#include "cli/sweep.h"
#include "cli/terminal.h"
#include "cli/train_report.h"
#include "cli/verb.h"

#include "weft/base/cpu.h"
#include "weft/base/parallel.h"
#include "weft/train/simulated_run.h"
#include "weft/train/sweep/sweep.h"

namespace weft::cli {
namespace {

// Below the folder of the run.
constexpr const char* kProfileFile = "profile.json";

struct TrainArguments {
  std::string help;  // a key of recipes
  std::string recipe;
  std::vector<std::string> overrides;
  std::string data;
  std::string out;
  bool is_resumed = false;
  bool as_json = false;
  bool check_numerics = false;
  bool is_profiled = false;
  bool is_dry_run = false;
  int patience = -1;  // below 0: as the recipe says
  int threads = 0;
  int cores = 0;  // of a sweep; 0: those of the machine
  RankArguments ranks;
  int servers = -1;       // of these; below 0: as the recipe says
  std::string simulated;  // a network; empty: as the recipe says
};

// What flags say stands above what recipes say.
void apply_flags(const TrainArguments& arguments, Recipe& recipe) {
  if (!arguments.data.empty()) {
    // The checkpoint keeps the recipe, and may be opened from another folder.
    recipe.data.folder = std::filesystem::absolute(arguments.data).string();
  }
  if (!arguments.out.empty()) recipe.log.folder = arguments.out;
  if (arguments.check_numerics) recipe.train.check_numerics = true;
  if (arguments.patience >= 0) recipe.train.patience = arguments.patience;
}

std::string name_of(const TrainArguments& arguments) {
  return std::filesystem::path(arguments.recipe).stem();
}

// One worker's run, alone or with others behind `transport`.
TrainResult run_worker(const TrainArguments& arguments, const Recipe& recipe,
                       Transport* transport, TrainObserver& observer) {
  Trainer trainer(recipe, {.name = name_of(arguments),
                           .is_resumed = arguments.is_resumed,
                           .stop = &stop_requested(),
                           .transport = transport});
  return trainer.run(observer);
}

// The workers of this process; the result is that of the first.
TrainResult run_ranks(const TrainArguments& arguments, const Recipe& recipe,
                      LocalRanks& ranks, TrainObserver& observer) {
  const int threads = thread_count();
  TrainResult result;
  ranks.run([&](Transport& transport) {
    set_thread_count(
        threads_of_rank(ranks, transport, threads, arguments.threads > 0));
    const TrainResult own = run_worker(arguments, recipe, &transport, observer);
    if (transport.rank() == ranks.first()) result = own;
  });
  return result;
}

// A run of this process alone.
TrainResult run_here(const TrainArguments& arguments, const RankChoice& choice,
                     const Recipe& recipe, TrainObserver& observer) {
  if (!recipe.simulate.network.empty()) {
    // Workers run one at a time: one core plays all of them, unless the user
    // gives each of them more.
    if (arguments.threads == 0) set_thread_count(1);
    return train_simulated(recipe,
                           {.name = name_of(arguments),
                            .is_resumed = arguments.is_resumed,
                            .stop = &stop_requested()},
                           observer);
  }
  // One worker exchanges nothing.
  if (choice.is_alone() || arguments.ranks.workers == 1) {
    return run_worker(arguments, recipe, nullptr, observer);
  }
  return run_ranks(arguments, recipe, *open_ranks(choice), observer);
}

// Throws Error(kInvalidArgument) for real workers of a simulated network.
void refuse_real_workers(const TrainArguments& arguments, const Recipe& recipe,
                         const RankChoice& choice) {
  const int simulated = simulated_workers(recipe);
  if (simulated == 0) return;
  const std::string& network = recipe.simulate.network;
  if (choice.is_launched) {
    throw Error(ErrorCode::kInvalidArgument, "--simulate",
                "a simulated cluster is one process, and a launcher started "
                "several")
        .hint("start weft train by itself");
  }
  if (!arguments.ranks.transport.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--transport",
                "the workers of the simulated network '{}' have none", network)
        .hint("leave out --transport, or the simulated network");
  }
  const int workers = arguments.ranks.workers;
  if (workers == 0 || workers == simulated) return;
  throw Error(ErrorCode::kInvalidArgument, "--workers",
              "{} workers, but the simulated network '{}' has {}", workers,
              network, simulated)
      .hint("leave out --workers: the network says how many there are");
}

// Runs this process's part of a job whose output a launcher gathers: the first
// process says what went wrong; the others only when it is the first that is
// missing.
TrainResult run_launched(const TrainArguments& arguments, const Recipe& recipe,
                         LocalRanks& ranks) {
  try {
    Progress progress;
    return run_ranks(arguments, recipe, ranks, progress);
  } catch (const Error& error) {
    if (ranks.first() == 0 || error.where() == "rank 0") throw;
    // All processes have failed for one reason; one of them tells it.
    throw Reported{error.code()};
  }
}

// `ranks` are null where all workers are of this process.
TrainResult run_workers(const TrainArguments& arguments,
                        const RankChoice& choice, const Recipe& recipe,
                        LocalRanks* ranks) {
  if (choice.is_launched) return run_launched(arguments, recipe, *ranks);
  Progress progress;
  return ranks == nullptr ? run_here(arguments, choice, recipe, progress)
                          : run_ranks(arguments, recipe, *ranks, progress);
}

void train_sweep(const TrainArguments& arguments, const RankChoice& choice,
                 const std::vector<SweepRun>& runs) {
  const int cores = arguments.cores > 0 ? arguments.cores : thread_count();
  const int workers = std::max(arguments.ranks.workers, 1);
  const CoreShares shares =
      share_cores(runs.size(), cores, arguments.threads, workers);
  fmt::print(stderr, "{}\n",
             sweep_headline(name_of(arguments), runs.size(), shares));
  catch_stop_signals();
  SweepProgress progress(runs);
  const std::vector<RunOutcome> outcomes = run_sweep(
      runs,
      {.cores = shares,
       .is_resumed = arguments.is_resumed,
       .stop = &stop_requested(),
       .workers = workers},
      [&](const Recipe& recipe, TrainObserver& observer) {
        return run_here(arguments, choice, recipe, observer);
      },
      progress);
  if (arguments.as_json) {
    print_json(sweep_report(name_of(arguments), runs, outcomes));
  } else {
    fmt::print("{}", sweep_table(runs, outcomes));
  }
  const auto count = [&](RunState state) {
    return std::ranges::count(outcomes, state, &RunOutcome::state);
  };
  if (const auto open = count(RunState::kInterrupted); open > 0) {
    throw Error(ErrorCode::kCancelled, "sweep",
                "interrupted: {} of {} runs are not done", open, runs.size())
        .hint("the same command with --resume continues");
  }
  // The table has said which and why.
  if (count(RunState::kFailed) > 0) throw Reported{ErrorCode::kNumeric};
  if (arguments.as_json) return;
  const std::string best =
      (runs[best_first(outcomes)[0]].folder() / "best.safetensors").string();
  fmt::print("next: weft eval {}\n", shell_word(best));
}

// Throws Error(kInvalidArgument) for what only makes sense for a sweep, or for
// a single run.
void refuse_mixture(const TrainArguments& arguments, bool is_sweep,
                    const RankChoice& choice) {
  if (!is_sweep && arguments.cores > 0) {
    throw Error(ErrorCode::kInvalidArgument, "--cores",
                "there is one run, and cores are shared by several")
        .hint(
            "--threads says how many threads a run computes with; --set "
            "KEY=A,B makes several runs");
  }
  if (is_sweep && arguments.is_profiled) {
    throw Error(ErrorCode::kInvalidArgument, "--profile",
                "a profile is of a whole process, where several runs would "
                "share it")
        .hint("give each key one value");
  }
  if (is_sweep && arguments.is_dry_run) {
    throw Error(ErrorCode::kInvalidArgument, "--dry-run",
                "a forecast is of one run, and these values make several")
        .hint("give each key one value");
  }
  if (is_sweep && choice.is_launched) {
    throw Error(ErrorCode::kInvalidArgument, "--set",
                "a sweep is no job for a launcher: its runs share the cores of "
                "one machine")
        .hint("start weft train by itself, or give each key one value");
  }
  if (is_sweep && !arguments.ranks.transport.empty()) {
    throw Error(ErrorCode::kInvalidArgument, "--transport",
                "the runs of a sweep share the cores of one machine")
        .hint("--workers gives each run that many, or give each key one value");
  }
}

// What a step sends is told where it can be rehearsed: by several workers that
// all are of this process and find room in it.
std::optional<TrafficForecast> traffic_beforehand(
    const RankChoice& choice, const Recipe& recipe,
    const MemoryForecast& memory) {
  const bool is_alone = memory.workers == 1 || choice.is_alone();
  if (is_alone || recipe.privacy.is_on() || simulated_workers(recipe) > 0 ||
      memory.total() > static_cast<double>(free_memory_bytes())) {
    return std::nullopt;
  }
  return forecast_traffic(recipe, *open_ranks(choice));
}

void tell_beforehand(const TrainArguments& arguments, const RankChoice& choice,
                     const Recipe& recipe) {
  const int workers = choice.is_one_process() ? arguments.ranks.workers : 1;
  const MemoryForecast memory = forecast_memory(recipe, std::max(workers, 1));
  print_forecast(memory, traffic_beforehand(choice, recipe, memory),
                 name_of(arguments), arguments.as_json);
}

void train(const TrainArguments& arguments) {
  const RankChoice choice = choose_ranks(arguments.ranks);
  // A launcher's processes know each other before anything else is read.
  std::unique_ptr<LocalRanks> ranks;
  if (choice.is_launched) ranks = open_ranks(choice);
  std::vector<std::string> overrides = arguments.overrides;
  if (!arguments.simulated.empty()) {
    // Quoted, as its commas would make a sweep.
    overrides.push_back(
        fmt::format("simulate.network=\"{}\"", arguments.simulated));
  }
  if (arguments.servers == 0) {
    throw Error(ErrorCode::kInvalidArgument, "--servers",
                "0 servers would hold no parameters")
        .hint("leave it out: then the workers share them");
  }
  if (arguments.servers > 0) {
    overrides.push_back(fmt::format("sync.servers={}", arguments.servers));
  }
  if (arguments.is_profiled) {
    overrides.push_back(fmt::format("trace.file={}", kProfileFile));
  }
  std::vector<SweepRun> runs = load_sweep(arguments.recipe, overrides);
  for (SweepRun& run : runs) {
    apply_flags(arguments, run.recipe);
    refuse_real_workers(arguments, run.recipe, choice);
  }
  const bool is_sweep = runs.size() > 1;
  refuse_mixture(arguments, is_sweep, choice);
  if (is_sweep) return train_sweep(arguments, choice, runs);
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  const Recipe& recipe = runs[0].recipe;
  if (arguments.is_dry_run) return tell_beforehand(arguments, choice, recipe);
  // Others wait only for what can be run: recipe and flags are read by now.
  if (!ranks && !choice.is_one_process()) ranks = open_ranks(choice);
  catch_stop_signals();
  const TrainResult result =
      run_workers(arguments, choice, recipe, ranks.get());
  // All ranks have the same result; the first one prints it.
  if (ranks && ranks->first() != 0) return;
  if (arguments.as_json) {
    print_json(report_of(name_of(arguments), result));
  } else {
    print_result(result);
  }
  if (arguments.is_profiled) {
    tell_profile(recipe, kProfileFile, !arguments.as_json);
  }
  if (arguments.as_json) return;
  fmt::print("next: {}\n", next_command(recipe, result));
}

void add_train(CLI::App& verb) {
  auto arguments = std::make_shared<TrainArguments>();
  // The verb's own help, or that of a key of recipes: a key asks for no recipe.
  verb.set_help_flag();
  verb.add_option("-h,--help", arguments->help,
                  "print this, or what a key of recipes means, or a name in "
                  "its value: --help train.batch, --help optimizer, --help "
                  "qsgd, --help recipe; or --help transport")
      ->expected(0, 1)
      ->type_name("[KEY]");
  verb.add_option("RECIPE", arguments->recipe, "a TOML file");
  // CLI11 would otherwise take following words for further values.
  verb.add_option("--set", arguments->overrides,
                  "change a key of the recipe: --set optimizer.lr=0.1; with "
                  "several values, --set optimizer.lr=0.1,0.01, train a run "
                  "for each of their combinations")
      ->allow_extra_args(false)
      ->type_name("KEY=VALUE[,VALUE]");
  verb.add_option("--data", arguments->data, "folder of the data")
      ->type_name("DIR");
  verb.add_option("--out", arguments->out,
                  "folder of checkpoints and metrics (runs/RECIPE)")
      ->type_name("DIR");
  verb.add_flag("--resume", arguments->is_resumed,
                "continue from the last checkpoint");
  verb.add_flag("--json", arguments->as_json,
                "print one JSON object, and nothing else on standard output");
  verb.add_flag("--check-numerics", arguments->check_numerics,
                "find the op in which NaN or infinity first appears, or an "
                "index lies outside of its axis (slow)");
  verb.add_flag("--dry-run", arguments->is_dry_run,
                "say what the run will take of memory, and what each of its "
                "workers will send; train nothing");
  verb.add_flag("--profile", arguments->is_profiled,
                "say where the time went, kernel by kernel, and record it in "
                "profile.json of the run's folder, for ui.perfetto.dev");
  verb.add_option("--patience", arguments->patience,
                  "end when held-out data have not become better for so many "
                  "epochs; 0: never")
      ->check(CLI::Range(0, 1 << 30))
      ->type_name("EPOCHS");
  add_rank_options(verb, arguments->ranks,
                   "train with as many workers, threads of this process; "
                   "mpirun and srun start them as processes");
  verb.add_option("--servers", arguments->servers,
                  "how many of the workers compute nothing and hold the "
                  "parameters, under a policy with servers")
      ->check(CLI::Range(0, 1024));
  verb.add_option("--simulate", arguments->simulated,
                  "train by all workers of a cluster that is not there, on a "
                  "virtual clock: 64@50us,100Mbit/s, or 4@5us,10GB/s x "
                  "16@50us,1Gbit/s; see also --help simulate")
      ->type_name("NETWORK");
  verb.add_option("--threads", arguments->threads,
                  "compute threads, of each run; of each simulated worker (1)")
      ->check(CLI::Range(1, 1024));
  verb.add_option("--cores", arguments->cores,
                  "that the runs of several values share: as many runs at "
                  "once as have --threads each (those of the machine)")
      ->check(CLI::Range(1, 1024));
  verb.callback([&verb, arguments] {
    if (verb.count("--help") > 0) {
      if (arguments->help.empty()) throw CLI::CallForHelp();
      if (is_transport_topic(arguments->help)) {
        return print_transport_help(arguments->help, arguments->as_json);
      }
      return print_recipe_help(arguments->help, arguments->as_json);
    }
    if (arguments->recipe.empty()) throw CLI::RequiredError("RECIPE");
    train(*arguments);
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_train(cli::VerbRegistry& verbs) {
  verbs.add({.name = "train",
             .summary = "Train what a recipe describes",
             .order = 10,
             .add = cli::add_train});
}

}  // namespace weft
