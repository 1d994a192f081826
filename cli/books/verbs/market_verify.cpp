// weft market verify: a market replayed from its beginning.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/report.h"
#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/market/market.h"

namespace weft::cli {
namespace {

void verify_market(const std::string& location, bool as_json) {
  Ledger ledger = Ledger::open(location);
  // Signatures, rules, roots and sums of money are held to on the way.
  const market::State last = market::replay(ledger);
  if (as_json) {
    return print_json({{"blocks", last.height},
                       {"money", last.money},
                       {"root", market::to_hex(last.root)}});
  }
  fmt::print("{} blocks hold; {} of money, root {}\n", grouped(last.height),
             grouped(last.money), market::to_hex(last.root));
}

void add_market_verify(CLI::App& verb) {
  auto ledger = std::make_shared<std::string>();
  auto as_json = std::make_shared<bool>(false);
  verb.add_option("LEDGER", *ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_flag("--json", *as_json, "print one JSON object");
  verb.callback([ledger, as_json] { verify_market(*ledger, *as_json); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_verify(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market verify",
             .summary = "Replay all blocks, and hold them to their roots",
             .order = 47,
             .add = cli::add_market_verify});
}

}  // namespace weft
