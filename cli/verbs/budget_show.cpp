// weft budget show: what is left of each block, and how claims stand.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/text_table.h"
#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/budget/budget_ledger.h"
#include "weft/budget/budget_page.h"
#include "weft/budget/budget_view.h"

namespace weft::cli {
namespace {

struct BudgetShowArguments {
  std::string ledger;
  std::string page;
  bool as_json = false;
};

void print_books(const BudgetBooks& books, std::int64_t now) {
  std::vector<std::vector<std::string>> blocks{
      {"block", "spent", "of epsilon", "delta", "", "claims", "given"}};
  for (const auto& [name, block] : books.blocks()) {
    const double spent = BudgetBooks::consumed_epsilon(block);
    blocks.push_back({printable(name), fmt::format("{:.3f}", spent),
                      fmt::format("{:g}", block.guarantee.epsilon),
                      fmt::format("{:g}", block.guarantee.delta),
                      bar(std::min(spent / block.guarantee.epsilon, 1.0)),
                      std::to_string(block.claims),
                      printable(block.retirement_text(now))});
  }
  fmt::print("{}", text_table(blocks, "<>>><><"));
  if (books.claims().empty()) return;
  std::vector<std::vector<std::string>> claims{
      {"claim", "job", "standing", "blocks", "mechanism"}};
  for (const auto& [name, claim] : books.claims()) {
    std::string standing(to_string(claim.standing));
    if (!claim.because.empty()) standing += ": " + printable(claim.because);
    claims.push_back({printable(name), printable(claim.entry.job), standing,
                      std::to_string(claim.entry.blocks.size()),
                      printable(claim.entry.mechanism)});
  }
  fmt::print("\n{}", text_table(claims, "<<<><"));
}

void show_budget(const BudgetShowArguments& arguments) {
  Ledger ledger = Ledger::open(arguments.ledger);
  BudgetLedger budgets(ledger);
  const BudgetBooks& books = budgets.books();
  const std::int64_t now = ledger.now();
  if (!arguments.page.empty()) {
    write_file(arguments.page, budget_page(books, ledger.location(), now));
  }
  if (arguments.as_json) {
    fmt::print("{}\n", budget_json(books, now));
  } else {
    print_books(books, now);
    const std::string standstill = standstill_text(now);
    if (!standstill.empty()) fmt::print("\n{}\n", standstill);
  }
}

void add_budget_show(CLI::App& verb) {
  auto arguments = std::make_shared<BudgetShowArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("--page", arguments->page,
                  "write a page of it, for a browser")
      ->type_name("FILE.html");
  verb.add_flag("--json", arguments->as_json, "print one JSON object");
  verb.callback([arguments] { show_budget(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_budget_show(cli::VerbRegistry& verbs) {
  verbs.add({.name = "budget show",
             .summary = "Say what is left of privacy budgets, and who has them",
             .order = 20,
             .add = cli::add_budget_show});
}

}  // namespace weft
