// weft gate simulate: what a gate would do with models whose true accuracies
// are known.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/books/gate_terms.h"
#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/gate/simulation.h"

namespace weft::cli {
namespace {

struct GateSimulateArguments {
  GateTermsArguments terms;
  TrueShares truth;
  bool is_attack = false;
  std::int64_t points = 0;
  std::int64_t histories = 10'000;
  std::uint64_t seed = 1;
  bool as_json = false;
};

double share_of(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

void gate_simulate(const GateSimulateArguments& arguments) {
  const GateTerms terms = arguments.terms.terms();
  const GatePlan plan = plan_gate(terms);
  const std::int64_t points =
      arguments.points > 0 ? arguments.points : plan.points;
  const SimulatedHistories result =
      arguments.is_attack
          ? simulate_attacker(terms, points, arguments.histories,
                              arguments.seed)
          : simulate_developer(terms, plan, arguments.truth,
                               arguments.histories, arguments.seed);
  const double allowed = 1 - terms.reliability;
  const double wrong = share_of(result.wrong, result.histories);
  if (arguments.as_json) {
    print_json({{"histories", result.histories},
                {"verdicts", result.verdicts},
                {"points", points},
                {"passed", share_of(result.passed, result.verdicts)},
                {"wrong", wrong},
                {"allowed", allowed},
                {"labels", result.labels}});
    return;
  }
  fmt::print("{} histories of up to {} verdicts on {} points\n",
             grouped(result.histories), grouped(terms.steps), grouped(points));
  if (!arguments.is_attack) {
    fmt::print("{:>10.2f} %  of the verdicts let the model pass\n",
               100 * share_of(result.passed, result.verdicts));
    fmt::print("{:>10.0f}    labels for each verdict\n", result.labels);
  }
  fmt::print(
      "{:>10.4f} %  of the histories have a wrong verdict; promised is "
      "at most {:.4g} %\n",
      100 * wrong, 100 * allowed);
}

void add_gate_simulate(CLI::App& verb) {
  auto arguments = std::make_shared<GateSimulateArguments>();
  add_gate_terms(verb, arguments->terms);
  auto* attack =
      verb.add_flag("--attack", arguments->is_attack,
                    "a developer who uses each verdict to learn the test set");
  for (const auto& [name, share, summary] :
       {std::tuple("--new", &TrueShares::now, "true accuracy of new models"),
        std::tuple("--old", &TrueShares::old, "true accuracy of the old one"),
        std::tuple("--different", &TrueShares::different,
                   "share of points on which they differ")}) {
    verb.add_option(name, arguments->truth.*share, summary)
        ->check(CLI::Range(0.0, 1.0))
        ->excludes(attack);
  }
  verb.add_option("--points", arguments->points,
                  "so many points, instead of those that the promise takes")
      ->check(CLI::Range(1, 1'000'000))
      ->needs(attack);
  verb.add_option("--histories", arguments->histories, "lives of a test set")
      ->check(CLI::Range(1, 100'000'000));
  verb.add_option("--seed", arguments->seed, "of the random numbers");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { gate_simulate(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_gate_simulate(cli::VerbRegistry& verbs) {
  verbs.add({.name = "gate simulate",
             .summary = "Say what a gate would do with models of known "
                        "accuracy",
             .order = 12,
             .add = cli::add_gate_simulate});
}

}  // namespace weft
