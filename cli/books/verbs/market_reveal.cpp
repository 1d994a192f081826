// weft market reveal: draws which stages of a job are computed again.
#include <CLI/CLI.hpp>

#include "cli/books/market_sending.h"
#include "cli/verb.h"

namespace weft::cli {
namespace {

struct MarketRevealArguments {
  std::string ledger;
  std::int64_t job = 0;
  std::string key;
  std::vector<std::string> validators;
};

void reveal(const MarketRevealArguments& arguments) {
  const auto key = market::SigningKey::read(arguments.key);
  Ledger ledger = Ledger::open(arguments.ledger);
  market::Market market(ledger, validators_in(arguments.validators));
  send_and_print(market, market::next_reveal(market, key, arguments.job));
}

void add_market_reveal(CLI::App& verb) {
  auto arguments = std::make_shared<MarketRevealArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("JOB", arguments->job, "its number")->required();
  verb.add_option("--key", arguments->key,
                  "a file with the key that submitted the job")
      ->required()
      ->type_name("FILE");
  add_validators_option(verb, arguments->validators);
  verb.callback([arguments] { reveal(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_reveal(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market reveal",
             .summary = "Draw the stages of a job that are computed again",
             .order = 72,
             .add = cli::add_market_reveal});
}

}  // namespace weft
