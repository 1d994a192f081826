// weft budget add: blocks of data with a privacy budget, and how it is dealt
// out.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/budget/budget_ledger.h"
#include "weft/budget/date_text.h"

namespace weft::cli {
namespace {

struct BudgetAddArguments {
  std::string ledger;
  std::vector<std::string> blocks;
  privacy::Guarantee guarantee{.epsilon = 10, .delta = 1e-7};
  std::string scheduler;
  std::string unlocking;
  double period = -1;
  std::string until;
  std::int64_t grants = 0;
};

void add_blocks(const BudgetAddArguments& arguments) {
  Ledger ledger = Ledger::open(arguments.ledger, LedgerMode::kCreate);
  BudgetLedger budgets(ledger);
  BudgetRules rules = budgets.books().rules();
  if (!arguments.scheduler.empty()) rules.scheduler = arguments.scheduler;
  if (!arguments.unlocking.empty()) rules.unlocking = arguments.unlocking;
  if (arguments.period >= 0) rules.period = arguments.period;
  budgets.set_rules(rules);
  const Retirement retirement{
      .at = arguments.until.empty() ? 0 : parse_date(arguments.until),
      .grants = arguments.grants};
  for (const std::string& block : arguments.blocks) {
    budgets.add_block(block, arguments.guarantee, retirement);
  }
}

void add_budget_add(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetAddArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, which is made if need be, or "
                  "postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("BLOCKS", arguments->blocks,
                  "names of data that come together, such as a day's; none to "
                  "change only how budgets are dealt out");
  verb.add_option("--epsilon", arguments->guarantee.epsilon,
                  "that holds for each of them, whatever is trained on it")
      ->capture_default_str();
  verb.add_option("--delta", arguments->guarantee.delta,
                  "that this is allowed to fail by")
      ->capture_default_str();
  verb.add_option("--scheduler", arguments->scheduler,
                  "who is granted first: dpk (default), dpf, fcfs, optimal");
  verb.add_option(
      "--unlocking", arguments->unlocking,
      "how much may be used so far: all (default), "
      "\"time(lifetime=2592000)\" in seconds, \"claims(count=100)\"");
  verb.add_option("--period", arguments->period,
                  "seconds between two decisions, in which claims come "
                  "together; 0: each at once")
      ->check(CLI::NonNegativeNumber);
  verb.add_option("--until", arguments->until,
                  "when the blocks retire, in UTC: nothing is granted of them "
                  "from then on; as 2027-01-31, or \"2027-01-31 12:30:00\"")
      ->type_name("DATE");
  verb.add_option("--grants", arguments->grants,
                  "after how many grants they retire; 0: never")
      ->check(CLI::NonNegativeNumber);
  verb.callback([arguments] { add_blocks(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget_add(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget add",
             .summary = "Give blocks of data a privacy budget",
             .order = 10,
             .add = cli::add_budget_add});
}

}  // namespace weft
