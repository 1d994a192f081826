// weft market tick: what is due by now, without a transaction.
#include <CLI/CLI.hpp>

#include "cli/books/market_sending.h"
#include "cli/verb.h"

namespace weft::cli {
namespace {

struct MarketTickArguments {
  std::string ledger;
  std::vector<std::string> validators;
};

void add_market_tick(CLI::App& verb) {
  auto arguments = std::make_shared<MarketTickArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  add_validators_option(verb, arguments->validators);
  verb.callback([arguments] {
    Ledger ledger = Ledger::open(arguments->ledger);
    market::Market market(ledger, validators_in(arguments->validators));
    print_notes(market.commit({}));
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_tick(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market tick",
             .summary = "Tell votes, give out jobs and note records by now",
             .order = 45,
             .add = cli::add_market_tick});
}

}  // namespace weft
