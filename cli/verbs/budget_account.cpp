// weft budget account MECHANISMS: what they give away, and how much noise keeps
// it within a guarantee.
#include <CLI/CLI.hpp>
#include <fmt/core.h>
#include <memory>
#include <string>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/privacy/accountant.h"
#include "weft/privacy/privacy_loss.h"

namespace weft::cli {
namespace {

struct BudgetAccountArguments {
  std::string mechanisms;
  double delta = 1e-5;
  double epsilon = 0;  // 0: not asked for
  bool as_json = false;
};

std::string mechanisms_text() {
  std::string text = "Mechanisms, each with steps=1 beside its options:\n";
  for (const privacy::MechanismDef& def : mechanism_registry().all()) {
    text += fmt::format(
        "  {}\n      {}\n",
        call_text(def.name, def.options, complete(def.options, {}, def.name)),
        def.summary);
  }
  return text +
         "\nNoise is over the sensitivity: how far one person can move a "
         "result. Mechanisms\none after the other are written with +.\n\n"
         "  weft budget account \"subsampled_gaussian(noise=1.1, rate=0.01, "
         "steps=10000)\"\n"
         "  weft budget account \"subsampled_gaussian(rate=0.01, "
         "steps=10000)\" --epsilon 3";
}

void account(const BudgetAccountArguments& arguments) {
  using privacy::Accounting;
  const privacy::Mechanisms mechanisms =
      privacy::parse_mechanisms(arguments.mechanisms);
  const privacy::Guarantee guarantee{arguments.epsilon, arguments.delta};
  Json json{{"mechanisms", to_string(mechanisms)}, {"delta", arguments.delta}};
  const privacy::RenyiCurve curve =
      renyi_curve(mechanisms, privacy::accounting_orders());
  const privacy::AtOrder by_curve = epsilon_of(curve, arguments.delta);
  json["rdp"] = {{"epsilon", number(by_curve.value)},
                 {"order", number(by_curve.order)}};
  json["pld"] = {{"epsilon", number(epsilon_of(mechanisms, arguments.delta,
                                               Accounting::kLoss))}};
  if (arguments.epsilon > 0) {
    for (const auto accounting : {Accounting::kRenyi, Accounting::kLoss}) {
      Json& found = json[std::string(to_string(accounting))];
      found["delta"] =
          number(accounting == Accounting::kRenyi
                     ? delta_of(curve, arguments.epsilon).value
                     : privacy_losses(mechanisms).delta(arguments.epsilon));
      found["with_least_noise"] =
          to_string(with_least_noise(mechanisms, guarantee, accounting));
    }
  }
  if (arguments.as_json) return print_json(json);
  for (const auto accounting : {Accounting::kRenyi, Accounting::kLoss}) {
    const std::string name(to_string(accounting));
    const Json& found = json[name];
    fmt::print(
        "{}  epsilon {}{}\n", name,
        found["epsilon"].is_null()
            ? "infinite"
            : fmt::format("{:.6g}", found["epsilon"].get<double>()),
        found.contains("order")
            ? fmt::format(", at order {:.6g}", found["order"].get<double>())
            : "");
    if (found.contains("with_least_noise"))
      fmt::print("     epsilon {:.6g} at delta {:.4g}, or with {}\n",
                 arguments.epsilon, found["delta"].get<double>(),
                 found["with_least_noise"].get<std::string>());
  }
}

void add_budget_account(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetAccountArguments>();
  verb.add_option("MECHANISMS", arguments->mechanisms,
                  "how noise is drawn; see below")
      ->required();
  verb.add_option("--delta", arguments->delta, "of the guarantee")
      ->capture_default_str();
  verb.add_option("--epsilon", arguments->epsilon,
                  "say its delta, and find the least multiple of the noise "
                  "that keeps it");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.footer(mechanisms_text());
  verb.callback([arguments] { account(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget_account(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget account",
             .summary = "Say what noise gives away, and how much is needed",
             .order = 10,
             .add = cli::add_budget_account});
}

}  // namespace weft
