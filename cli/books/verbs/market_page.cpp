// weft market page: a market as a page by itself.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/market/market.h"
#include "weft/market/page.h"

namespace weft::cli {
namespace {

void write_page(const std::string& location, const std::string& out) {
  Ledger ledger = Ledger::open(location);
  std::vector<market::MoneyPoint> history;
  const market::State last =
      market::replay(ledger, [&](const market::State& state) {
        history.push_back(market::money_point(state));
      });
  write_file(out, market::market_page(last, history));
  fmt::print("{}\n", out);
}

void add_market_page(CLI::App& verb) {
  auto ledger = std::make_shared<std::string>();
  auto out = std::make_shared<std::string>();
  verb.add_option("LEDGER", *ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("-o,--out", *out, "the page")->required()->type_name("FILE");
  verb.callback([ledger, out] { write_page(*ledger, *out); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_page(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market page",
             .summary = "Write a market as a page, with charts",
             .order = 49,
             .add = cli::add_market_page});
}

}  // namespace weft
