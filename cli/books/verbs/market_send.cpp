// weft market send: a transaction, signed and in a block.
#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/books/market_sending.h"
#include "cli/verb.h"

#include "weft/market/replica.h"
#include "weft/market/transaction_def.h"

namespace weft::cli {
namespace {

struct MarketSendArguments {
  std::string ledger;
  std::string what;
  std::vector<std::string> fields;
  std::string key;
  std::vector<std::string> validators;
  bool is_pooled = false;
};

void send_transaction(const MarketSendArguments& arguments) {
  const auto& def = market_transaction_registry().get(arguments.what);
  const auto key = market::SigningKey::read(arguments.key);
  Ledger ledger = Ledger::open(arguments.ledger);
  market::Market market(ledger, validators_in(arguments.validators));
  const market::Transaction transaction = market::next_transaction(
      market, key, arguments.what,
      market::fields_from_words(def, arguments.fields));
  if (arguments.is_pooled) return market::add_to_pool(ledger, transaction);
  send_and_print(market, transaction);
}

void add_market_send(CLI::App& verb) {
  auto arguments = std::make_shared<MarketSendArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("WHAT", arguments->what,
                  "one of weft market transactions: vote")
      ->required();
  verb.add_option("FIELDS", arguments->fields, "what it says: approve=true")
      ->type_name("FIELD=VALUE");
  verb.add_option("--key", arguments->key, "a file with the sender's key")
      ->required()
      ->type_name("FILE");
  add_validators_option(verb, arguments->validators);
  verb.add_flag("--pool", arguments->is_pooled,
                "leave it to the replicas of the market to put it into a "
                "block");
  verb.callback([arguments] { send_transaction(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_send(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market send",
             .summary = "Sign a transaction and put it into a block",
             .order = 40,
             .add = cli::add_market_send});
}

}  // namespace weft
