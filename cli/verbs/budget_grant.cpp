// weft budget grant, wait, release: what a job that is no `weft train` asks of
// a ledger of privacy budgets.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/verb.h"

#include "weft/budget/budget_ledger.h"
#include "weft/budget/budget_view.h"

namespace weft::cli {
namespace {

struct BudgetGrantArguments {
  std::string ledger;
  ClaimEntry claim;
  double seconds = 0;
  bool has_begun = false;
  bool as_json = false;
};

// A refusal is an answer, and the exit code says it.
void tell(const KeptClaim& claim, bool as_json) {
  if (as_json) {
    fmt::print("{}\n", claim_json(claim));
  } else {
    fmt::print("{}: {}{}{}\n", claim.entry.claim, to_string(claim.standing),
               claim.because.empty() ? "" : ", since ", claim.because);
  }
  if (claim.standing == ClaimStanding::kRefused ||
      claim.standing == ClaimStanding::kReleased) {
    throw Reported{ErrorCode::kExhausted};
  }
}

void grant(const BudgetGrantArguments& arguments) {
  Ledger ledger = Ledger::open(arguments.ledger);
  BudgetLedger budgets(ledger);
  KeptClaim claim = budgets.ask(arguments.claim);
  if (claim.standing == ClaimStanding::kWaiting && arguments.seconds > 0) {
    claim = budgets.wait(arguments.claim.claim, arguments.seconds);
  }
  if (arguments.has_begun && claim.standing == ClaimStanding::kGranted) {
    budgets.begin(arguments.claim.claim);
  }
  tell(claim, arguments.as_json);
}

void add_ledger_and_claim(CLI::App& verb, BudgetGrantArguments& arguments) {
  verb.add_option("LEDGER", arguments.ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("CLAIM", arguments.claim.claim,
                  "a name of its own for the job: asked for again, it is the "
                  "same claim")
      ->required();
}

void add_budget_grant(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetGrantArguments>();
  add_ledger_and_claim(verb, *arguments);
  verb.add_option("--blocks", arguments->claim.blocks,
                  "names of blocks, or patterns of them: \"2026-*\"")
      ->required();
  verb.add_option("--mechanism", arguments->claim.mechanism,
                  "what the job does to the data of each block, such as "
                  "\"gaussian(noise=2)\"")
      ->required();
  verb.add_option("--job", arguments->claim.job, "what it is, for people");
  verb.add_option("--weight", arguments->claim.weight,
                  "how much it counts beside others")
      ->capture_default_str();
  verb.add_option("--wait", arguments->seconds,
                  "for so many seconds, if the budget is not unlocked yet")
      ->check(CLI::NonNegativeNumber);
  verb.add_flag("--begin", arguments->has_begun,
                "the job begins now: what it is granted cannot be given back");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { grant(*arguments); });
}

void add_budget_wait(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetGrantArguments>();
  add_ledger_and_claim(verb, *arguments);
  arguments->seconds = 3600;
  verb.add_option("--seconds", arguments->seconds,
                  "after which the claim is refused")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] {
    Ledger ledger = Ledger::open(arguments->ledger);
    BudgetLedger budgets(ledger);
    tell(budgets.wait(arguments->claim.claim, arguments->seconds),
         arguments->as_json);
  });
}

void add_budget_release(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetGrantArguments>();
  add_ledger_and_claim(verb, *arguments);
  verb.callback([arguments] {
    Ledger ledger = Ledger::open(arguments->ledger);
    BudgetLedger(ledger).release(arguments->claim.claim);
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget_grant(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget grant",
             .summary = "Ask for a part of a privacy budget",
             .order = 30,
             .add = cli::add_budget_grant});
  verbs.add({.name = "budget wait",
             .summary = "Wait until a claim on a budget is decided",
             .order = 40,
             .add = cli::add_budget_wait});
  verbs.add({.name = "budget release",
             .summary = "Give back what a job was granted and did not use",
             .order = 50,
             .add = cli::add_budget_release});
}

}  // namespace weft
