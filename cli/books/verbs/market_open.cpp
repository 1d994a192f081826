// weft market open: what a job made, for who paid for it.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

#include "weft/base/file.h"
#include "weft/market/sealed_result.h"

namespace weft::cli {
namespace {

struct MarketOpenArguments {
  std::string sealed;
  std::string key;
  std::string out;
};

void add_market_open(CLI::App& verb) {
  auto arguments = std::make_shared<MarketOpenArguments>();
  verb.add_option("FILE", arguments->sealed, "job-1.sealed of a worker")
      ->required();
  verb.add_option("--key", arguments->key, "a file with the payer's key")
      ->required()
      ->type_name("FILE");
  verb.add_option("-o,--out", arguments->out,
                  "where to write the model, the predictions or the text")
      ->required();
  verb.callback([arguments] {
    write_file(arguments->out,
               market::read_result(arguments->sealed,
                                   market::SigningKey::read(arguments->key)));
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_open(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market open",
             .summary = "Decrypt what a job made, for its payer",
             .order = 78,
             .add = cli::add_market_open});
}

}  // namespace weft
