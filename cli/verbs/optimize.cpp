// weft optimize MODEL -o FILE: the same function, faster on this machine.
#include <CLI/CLI.hpp>
#include <filesystem>
#include <fmt/core.h>

#include "cli/optimize_report.h"
#include "cli/report.h"
#include "cli/temporary_export.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/base/parallel.h"
#include "weft/compiler/rule.h"
#include "weft/files/exported.h"
#include "weft/files/optimized.h"

namespace weft::cli {
namespace {

namespace fs = std::filesystem;

struct OptimizeArguments {
  std::string model;
  std::string file;
  std::string data;
  std::string picture;
  OptimizeOptions options;
  double memory = 0;  // bytes
  std::int64_t batch = 1;
  int threads = 0;
  bool is_greedy = false;
  bool is_whole = false;
  bool as_json = false;
};

OptimizeReport optimize_model(const OptimizeArguments& arguments,
                              const fs::path& to) {
  const fs::path from = arguments.model;
  if (is_exported_function(from)) {
    return optimize_exported(from, to, arguments.batch, arguments.options);
  }
  const TemporaryExport exported(from, to, arguments.data);
  return optimize_exported(exported.file(), to, arguments.batch,
                           arguments.options);
}

void run_optimize(OptimizeArguments& arguments) {
  if (arguments.threads > 0) set_thread_count(arguments.threads);
  SearchOptions& search = arguments.options.search;
  if (arguments.is_greedy) search.alpha = 1;
  search.is_split = !arguments.is_whole;
  if (arguments.memory > 0) {
    search.objective.arena_limit = static_cast<std::size_t>(arguments.memory);
  }
  const fs::path to = arguments.file;
  const OptimizeReport report = optimize_model(arguments, to);
  if (!arguments.picture.empty()) {
    write_file(arguments.picture, optimize_picture(report));
  }
  if (arguments.as_json) {
    Json json = Json::parse(to_json(report));
    json["file"] = arguments.file;
    return print_json(json);
  }
  print_optimize_report(report);
  fmt::print("next: weft run {0}, weft inspect {0} --graph\n",
             shell_word(arguments.file));
}

void add_optimize(CLI::App& verb) {
  auto arguments = std::make_shared<OptimizeArguments>();
  SearchOptions& search = arguments->options.search;
  verb.add_option("MODEL", arguments->model,
                  "an exported function, a .safetensors checkpoint, or the "
                  "folder of a run")
      ->required();
  verb.add_option("-o,--output", arguments->file,
                  "what is written: a file for weft run")
      ->type_name("FILE")
      ->required();
  verb.add_option("--batch", arguments->batch,
                  "examples in a run, where it is measured (default 1)")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_option("--threads", arguments->threads, "compute threads")
      ->check(CLI::Range(1, 1024));
  verb.add_option("--alpha", search.alpha,
                  "how many times the best cost a function on the way may "
                  "have (default 1.05)")
      ->check(CLI::Range(1.0, 100.0));
  verb.add_flag("--greedy", arguments->is_greedy,
                "no step may make things worse: --alpha 1");
  verb.add_option("--budget", search.budget,
                  "functions of each part that are looked into (default 300)")
      ->check(CLI::Range(1, 1 << 24));
  verb.add_option("--seconds", search.seconds,
                  "after which the best that was found is taken (default 60)")
      ->check(CLI::PositiveNumber);
  verb.add_option("--part-nodes", search.part_nodes,
                  "larger functions are cut into parts (default 30)")
      ->check(CLI::Range(1, 1 << 20));
  verb.add_flag("--whole", arguments->is_whole, "cut nothing");
  verb.add_option("--memory", arguments->memory,
                  "memory that intermediate values may take: 200MB")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/true))
      ->type_name("SIZE");
  verb.add_option("--without", search.without,
                  "leave out these rules (weft passes)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("RULE,RULE,…");
  verb.add_option("--data", arguments->data, "folder of a checkpoint's data")
      ->type_name("DIR");
  verb.add_option("--picture", arguments->picture,
                  "draw the time after each substitution, as SVG")
      ->type_name("FILE");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { run_optimize(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_optimize(cli::VerbRegistry& verbs) {
  verbs.add({.name = "optimize",
             .summary = "Make a trained model faster on this machine",
             .order = 36,
             .add = cli::add_optimize});
}

}  // namespace weft
