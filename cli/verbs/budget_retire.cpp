// weft budget retire: ends blocks of data.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

#include "weft/budget/budget_ledger.h"

namespace weft::cli {
namespace {

struct BudgetRetireArguments {
  std::string ledger;
  std::vector<std::string> blocks;
  std::string because;
};

void add_budget_retire(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetRetireArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("BLOCKS", arguments->blocks,
                  "of which nothing is granted "
                  "any more")
      ->required();
  verb.add_option("--because", arguments->because,
                  "that those are told whose claims wait for them")
      ->required();
  verb.callback([arguments] {
    Ledger ledger = Ledger::open(arguments->ledger);
    BudgetLedger budgets(ledger);
    for (const std::string& block : arguments->blocks) {
      budgets.retire(block, arguments->because);
    }
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget_retire(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget retire",
             .summary = "End blocks of data: nothing is granted of them",
             .order = 15,
             .add = cli::add_budget_retire});
}

}  // namespace weft
