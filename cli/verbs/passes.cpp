// weft passes: what simplifies a graph before it is planned.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/compiler/pass.h"

namespace weft::cli {
namespace {

struct PassesArguments {
  std::string name;
  bool as_json = false;
};

std::vector<const PassDef*> in_order() {
  std::vector<const PassDef*> passes;
  for (const PassDef& pass : pass_registry().all()) passes.push_back(&pass);
  std::sort(
      passes.begin(), passes.end(),
      [](const PassDef* a, const PassDef* b) { return a->order < b->order; });
  return passes;
}

const char* guard_of(const PassDef& pass) {
  if (pass.is_needed) return "always";
  return pass.keeps_bits ? "every bit stays" : "where results may round";
}

Json as_json(const PassDef& pass) {
  return {{"name", pass.name},
          {"summary", pass.summary},
          {"ops", pass.ops},
          {"keeps_bits", pass.keeps_bits},
          {"is_needed", pass.is_needed}};
}

void print_one(const PassDef& pass) {
  fmt::print("{}: {} ({})\n", pass.name, pass.summary, guard_of(pass));
  for (const PassSample& sample : pass.samples) {
    if (sample.after.empty()) {
      fmt::print("\nleft alone:\n{}\n", sample.before);
    } else {
      fmt::print("\nof\n{}\nit makes\n{}\n", sample.before, sample.after);
    }
  }
}

void run(const PassesArguments& arguments) {
  if (!arguments.name.empty() && !arguments.as_json) {
    return print_one(pass_registry().get(arguments.name));
  }
  const auto passes = arguments.name.empty()
                          ? in_order()
                          : std::vector{&pass_registry().get(arguments.name)};
  if (arguments.as_json) {
    Json all = Json::array();
    for (const PassDef* pass : passes) all.push_back(as_json(*pass));
    return print_json(all);
  }
  for (const PassDef* pass : passes) {
    fmt::print("{:<18} {} ({})\n", pass->name, pass->summary, guard_of(*pass));
  }
}

void add_passes(CLI::App& verb) {
  auto arguments = std::make_shared<PassesArguments>();
  verb.add_option("NAME", arguments->name,
                  "one pass: what it makes of its samples");
  verb.add_flag("--json", arguments->as_json, "print one JSON array");
  verb.callback([arguments] { run(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_passes(cli::VerbRegistry& verbs) {
  verbs.add({.name = "passes",
             .summary = "Say what simplifies a graph before it runs, in order",
             .order = 90,
             .add = cli::add_passes});
}

}  // namespace weft
