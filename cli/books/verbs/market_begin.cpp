// weft market begin: a market in a ledger that has none.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/market/market.h"

namespace weft::cli {
namespace {

struct MarketBeginArguments {
  std::string ledger;
  std::string treasurer;
  std::string platform;
  std::vector<std::string> checkers;
  std::vector<std::string> vendors;
  std::vector<std::string> validators;
  market::Genesis genesis{.name = "market"};
};

std::vector<market::PublicKey> keys_of(const std::vector<std::string>& texts,
                                       const char* option) {
  std::vector<market::PublicKey> keys;
  for (const std::string& text : texts) {
    keys.push_back(market::key_from_text(text, option));
  }
  return keys;
}

void begin_market(const MarketBeginArguments& arguments) {
  market::Genesis genesis = arguments.genesis;
  genesis.treasurer = market::key_from_text(arguments.treasurer, "--treasurer");
  genesis.platform = market::key_from_text(arguments.platform, "--platform");
  genesis.checkers = keys_of(arguments.checkers, "--checker");
  genesis.vendors = keys_of(arguments.vendors, "--vendor");
  genesis.validators = keys_of(arguments.validators, "--validator");
  Ledger ledger = Ledger::open(arguments.ledger, LedgerMode::kCreate);
  market::Market::begin(ledger, genesis);
  fmt::print("{}\n", market::to_hex(market::Market(ledger).current().market));
}

void add_market_begin(CLI::App& verb) {
  auto arguments = std::make_shared<MarketBeginArguments>();
  market::Genesis& genesis = arguments->genesis;
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("--name", genesis.name, "of the market")
      ->capture_default_str();
  verb.add_option("--treasurer", arguments->treasurer,
                  "the account that takes money in")
      ->required()
      ->type_name("ACCOUNT");
  verb.add_option("--platform", arguments->platform,
                  "the account that gets the platform's part")
      ->required()
      ->type_name("ACCOUNT");
  verb.add_option("--checker", arguments->checkers,
                  "an account that activates models; several, if repeated")
      ->type_name("ACCOUNT");
  verb.add_option("--vendor", arguments->vendors,
                  "a key that vouches for machines; several, if repeated")
      ->type_name("KEY");
  verb.add_option("--validator", arguments->validators,
                  "a key that signs blocks, with a majority of the others; "
                  "none: whoever writes the ledger makes blocks")
      ->type_name("KEY");
  verb.add_option("--platform-share", genesis.platform_millionths,
                  "the platform's part of what a job pays others, in "
                  "millionths")
      ->check(CLI::Range(0, 1'000'000))
      ->capture_default_str();
  verb.add_option("--least-stake", genesis.least_stake,
                  "of a worker that is given jobs")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--slashed-stake", genesis.slashed_stake,
                  "that a cheat loses")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--most-tryrun-reads", genesis.most_tryrun_reads,
                  "of examples by a job that only tells its metric")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_flag("--second-price", genesis.pays_second_price,
                "pay workers what the next one asks who was not taken");
  verb.callback([arguments] { begin_market(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_begin(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market begin",
             .summary = "Begin a market in a ledger",
             .order = 20,
             .add = cli::add_market_begin});
}

}  // namespace weft
