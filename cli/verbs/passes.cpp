// weft passes: what simplifies a graph before it is planned, and the rules of
// weft optimize.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/compiler/pass.h"
#include "weft/compiler/rule.h"

namespace weft::cli {
namespace {

struct PassesArguments {
  std::string name;  // of a pass or a rule
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

const char* guard_of(const RuleDef& rule) {
  if (rule.use == RuleUse::kAlways) return "where results may round";
  if (rule.pays_if_frozen) {
    return rule.holds_in_training
               ? "where weights are frozen, and where it is measured to pay"
               : "where weights are frozen, and where it is measured to pay, "
                 "not in training";
  }
  return rule.holds_in_training
             ? "where it is measured to pay"
             : "where it is measured to pay, not in training";
}

Json as_json(const RuleDef& rule) {
  return {{"name", rule.name},
          {"summary", rule.summary},
          {"is_measured", rule.use == RuleUse::kMeasured},
          {"keeps_bits", rule.keeps_bits},
          {"pays_if_frozen", rule.pays_if_frozen},
          {"holds_in_training", rule.holds_in_training}};
}

template <class Def>
void print_line(const Def& def) {
  fmt::print("{:<24} {} ({})\n", def.name, def.summary, guard_of(def));
}

// A pass, or a rule.
template <class Def>
void print_one(const Def& def) {
  fmt::print("{}: {} ({})\n", def.name, def.summary, guard_of(def));
  for (const auto& sample : def.samples) {
    if (sample.after.empty()) {
      fmt::print("\nleft alone:\n{}\n", sample.before);
    } else {
      fmt::print("\nof\n{}\nit makes\n{}\n", sample.before, sample.after);
    }
  }
}

void run_on_rule(const RuleDef& rule, bool as_json) {
  if (as_json) return print_json(Json::array({cli::as_json(rule)}));
  print_one(rule);
}

void run(const PassesArguments& arguments) {
  if (const RuleDef* rule = rule_registry().find(arguments.name)) {
    return run_on_rule(*rule, arguments.as_json);
  }
  if (!arguments.name.empty() && !arguments.as_json) {
    return print_one(pass_registry().get(arguments.name));
  }
  const auto passes = arguments.name.empty()
                          ? in_order()
                          : std::vector{&pass_registry().get(arguments.name)};
  if (arguments.as_json) {
    Json all = Json::array();
    for (const PassDef* pass : passes) all.push_back(as_json(*pass));
    if (arguments.name.empty()) {
      for (const RuleDef& rule : rule_registry().all()) {
        all.push_back(as_json(rule));
      }
    }
    return print_json(all);
  }
  for (const PassDef* pass : passes) {
    print_line(*pass);
  }
  for (const RuleDef& rule : rule_registry().all()) print_line(rule);
}

void add_passes(CLI::App& verb) {
  auto arguments = std::make_shared<PassesArguments>();
  verb.add_option("NAME", arguments->name,
                  "one pass or rule: what it makes of its samples");
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
