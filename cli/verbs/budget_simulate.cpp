// weft budget simulate WORKLOAD…: who would be granted what, by whom.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/core.h>
#include <memory>

#include "cli/budget_report.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/privacy/grant_program.h"

namespace weft::cli {
namespace {

struct BudgetSimulateArguments {
  std::vector<std::string> workloads;
  std::vector<std::string> schedulers = {"dpk", "dpf", "fcfs"};
  std::string choice;
  std::string unlocking;
  std::string picture;
  int seeds = 1;
  double bound = 0;
  bool as_json = false;
  privacy::SimulationRules rules;
};

template <class Def>
std::string entries_text(const char* heading, const Registry<Def>& registry) {
  std::string text = fmt::format("{}:\n", heading);
  for (const Def& def : registry.all()) {
    text += fmt::format(
        "  {}\n      {}\n",
        call_text(def.name, def.options, complete(def.options, {}, def.name)),
        def.summary);
  }
  return text + "\n";
}

std::string budget_simulate_text() {
  return entries_text("Workloads", privacy_workload_registry()) +
         entries_text("Schedulers", budget_scheduler_registry()) +
         entries_text("Unlocking", unlocking_registry()) +
         "A study of how much there is to win where tasks differ:\n\n"
         "  weft budget simulate \"block_study(std=0)\" "
         "\"block_study(std=4)\" --seeds 3";
}

const std::map<std::string, privacy::BlockChoice> kChoices = {
    {"latest", privacy::BlockChoice::kLatest},
    {"uniform", privacy::BlockChoice::kUniform},
    {"contiguous", privacy::BlockChoice::kContiguous},
    {"zipf", privacy::BlockChoice::kZipf}};

BudgetStudy study(const BudgetSimulateArguments& arguments,
                  const std::string& text) {
  const privacy::WorkloadCall call = privacy::parse_workload(text);
  BudgetStudy study{.workload = text, .runs = {}};
  for (const std::string& scheduler : arguments.schedulers)
    study.runs.push_back({scheduler, {}});
  for (int seed = 0; seed < arguments.seeds; ++seed) {
    privacy::SimulationRules rules = arguments.rules;
    rules.seed += static_cast<std::uint64_t>(seed);
    privacy::Workload workload = call.def->make(call.options, rules.seed);
    if (!arguments.choice.empty())
      workload.choice = kChoices.at(arguments.choice);
    if (!arguments.unlocking.empty()) workload.unlocking = arguments.unlocking;
    study.tasks += static_cast<double>(workload.tasks.size()) / arguments.seeds;
    for (BudgetRun& run : study.runs)
      run.results.push_back(
          simulate(workload, privacy::parse_scheduler(run.scheduler), rules));
    if (arguments.bound > 0) {
      study.most.push_back(privacy::most_grantable(
          all_that_is_asked(workload, rules), arguments.bound));
    }
  }
  return study;
}

void simulate_budget(const BudgetSimulateArguments& arguments) {
  const std::string extension =
      std::filesystem::path(arguments.picture).extension();
  if (!arguments.picture.empty() && extension != ".svg" &&
      extension != ".png") {
    throw Error(ErrorCode::kInvalidArgument, "--picture",
                "'{}' is no name of a picture", arguments.picture)
        .hint("it ends with .svg or .png");
  }
  std::vector<BudgetStudy> studies;
  for (const std::string& workload : arguments.workloads)
    studies.push_back(study(arguments, workload));
  if (!arguments.picture.empty())
    write_file(arguments.picture, budget_picture(studies, extension == ".svg"));
  if (arguments.as_json)
    print_json(budget_json(studies));
  else
    fmt::print("{}", budget_table(studies));
}

void add_budget_simulate(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetSimulateArguments>();
  privacy::SimulationRules& rules = arguments->rules;
  verb.add_option("WORKLOAD", arguments->workloads,
                  "tasks and blocks that arrive; see below")
      ->required();
  verb.add_option("--scheduler", arguments->schedulers,
                  "who decides (dpk, dpf and fcfs, each by itself)")
      ->allow_extra_args(false)
      ->type_name("SCHEDULER");
  verb.add_option("--seed", rules.seed, "the first")->capture_default_str();
  verb.add_option("--seeds", arguments->seeds,
                  "so many runs, of which means are shown")
      ->check(CLI::Range(1, 10000))
      ->capture_default_str();
  verb.add_option("--choice", arguments->choice,
                  "which blocks a task asks of (the workload's)")
      ->check(CLI::IsMember(kChoices))
      ->type_name("CHOICE");
  verb.add_option("--unlocking", arguments->unlocking,
                  "how blocks' budgets are unlocked (the workload's)")
      ->type_name("RULE");
  verb.add_option("--patience", rules.patience,
                  "after which a task leaves, in units of time; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--lifetime", rules.lifetime,
                  "after which a block retires, in units of time; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--grants", rules.grants,
                  "after so many a block retires; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--fair-shares", rules.fair_shares,
                  "a fair share is one of so many of a block")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--bound", arguments->bound,
                  "say what weight no scheduler exceeds, which takes HiGHS at "
                  "most so many seconds a seed; 0: do not")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--picture", arguments->picture,
                  "draw who was granted, as SVG or PNG")
      ->type_name("FILE");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.footer(budget_simulate_text());
  verb.callback([arguments] { simulate_budget(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget_simulate(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget simulate",
             .summary = "Try schedulers of privacy budgets on a workload",
             .order = 20,
             .add = cli::add_budget_simulate});
}

}  // namespace weft
