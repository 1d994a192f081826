// weft gate size: how many labels a gate takes, before anything is labelled.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/books/gate_terms.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/gate/gate_view.h"

namespace weft::cli {
namespace {

struct GateSizeArguments {
  GateTermsArguments terms;
  bool as_json = false;
};

void print_gate_plan(const GateTerms& terms, const GatePlan& plan) {
  fmt::print("{:>12}  points with labels, for {} verdict{}\n",
             grouped(plan.labelled), grouped(terms.steps),
             terms.steps == 1 ? "" : "s");
  if (plan.points > plan.labelled) {
    fmt::print("{:>12}  points in all: the others need no labels\n",
               grouped(plan.points));
  }
  if (plan.labels_a_commit) {
    fmt::print("{:>12}  labels that a commit asks for at most\n",
               grouped(*plan.labels_a_commit));
  } else if (plan.labels_differences_only && plan.labelled > 0) {
    fmt::print("{:>12}  labels are asked for where models differ only\n", "");
  }
  if (plan.baseline > plan.labelled) {
    fmt::print("{:>12}  points with labels by Hoeffding's inequality alone\n",
               grouped(plan.baseline));
  }
  for (std::size_t i = 0; i < plan.clauses.size(); ++i) {
    const BoundAnswer& answer = plan.clauses[i];
    fmt::print("\n{}\n  {} points by '{}': {}\n",
               to_string(terms.condition.clauses[i]), grouped(answer.points),
               answer.bound, answer.why);
    if (answer.filter) {
      fmt::print(
          "  only where they differ on at most {:.4g} of {} points; else it "
          "takes {} points, or is unknown\n",
          answer.filter->most, grouped(answer.filter->points),
          grouped(answer.points_without));
    }
  }
  for (const std::string& hint : plan.hints) {
    fmt::print(stderr, "note: {}\n", hint);
  }
}

void gate_size(const GateSizeArguments& arguments) {
  const GateTerms terms = arguments.terms.terms();
  const GatePlan plan = plan_gate(terms);
  if (arguments.as_json) {
    fmt::print("{}\n", plan_json(terms, plan));
  } else {
    print_gate_plan(terms, plan);
  }
}

void add_gate_size(CLI::App& verb) {
  auto arguments = std::make_shared<GateSizeArguments>();
  add_gate_terms(verb, arguments->terms);
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { gate_size(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_size(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate size",
             .summary = "Say how many labels a gate takes",
             .order = 10,
             .add = cli::add_gate_size});
}

}  // namespace weft
