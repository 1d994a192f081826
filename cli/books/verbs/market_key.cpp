// weft market key: who somebody is in a market.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/verb.h"

#include "weft/market/job.h"
#include "weft/market/keys.h"

namespace weft::cli {
namespace {

struct MarketKeyArguments {
  std::string file;
  bool is_shown = false;
  std::string certified;
};

void make_key(const MarketKeyArguments& arguments) {
  using market::SigningKey;
  if (!arguments.certified.empty()) {
    const auto machine =
        market::key_from_text(arguments.certified, "--certify");
    fmt::print("{}\n", market::to_hex(market::certify_machine(
                           SigningKey::read(arguments.file), machine)));
    return;
  }
  if (arguments.is_shown) {
    fmt::print("{}\n",
               market::to_hex(SigningKey::read(arguments.file).public_key()));
    return;
  }
  const SigningKey key;
  key.write(arguments.file);
  fmt::print("{}\n", market::to_hex(key.public_key()));
}

void add_market_key(CLI::App& verb) {
  auto arguments = std::make_shared<MarketKeyArguments>();
  verb.add_option("FILE", arguments->file, "where the secret key is")
      ->required();
  auto* show = verb.add_flag("--show", arguments->is_shown,
                             "print the account of a key that is there, and "
                             "draw none");
  verb.add_option("--certify", arguments->certified,
                  "vouch with a vendor's key for this machine, and print the "
                  "certificate")
      ->type_name("MACHINE")
      ->excludes(show);
  verb.callback([arguments] { make_key(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_key(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market key",
             .summary = "Draw a key, or say whose it is",
             .order = 10,
             .add = cli::add_market_key});
}

}  // namespace weft
