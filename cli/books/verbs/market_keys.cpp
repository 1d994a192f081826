// weft market keys: the key service of an owner of shards.
#include <CLI/CLI.hpp>
#include <csignal>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/market/key_socket.h"

namespace weft::cli {
namespace {

std::atomic<bool> ends_key_service = false;

struct MarketKeysArguments {
  std::string ledger;
  std::string keys;
  std::string socket;
  std::vector<std::string> approved;
};

void serve(const MarketKeysArguments& arguments) {
  std::set<market::Digest> approved;
  for (const std::string& text : arguments.approved) {
    approved.insert(market::key_from_text(text, "--approve"));
  }
  Ledger ledger = Ledger::open(arguments.ledger);
  market::Market market(ledger);
  market::KeyService service(market, market::read_shard_keys(arguments.keys),
                             std::move(approved));
  for (const int signal : {SIGINT, SIGTERM}) {
    std::signal(signal, [](int) { ends_key_service = true; });
  }
  fmt::print("answers at {}\n", arguments.socket);
  std::fflush(stdout);
  market::serve_keys(arguments.socket, service, ends_key_service,
                     [](const std::string& line) {
                       fmt::print("{}\n", printable(line));
                       std::fflush(stdout);
                     });
}

void add_market_keys(CLI::App& verb) {
  auto arguments = std::make_shared<MarketKeysArguments>();
  verb.add_option("LEDGER", arguments->ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("--keys", arguments->keys, "file of the owner's keys")
      ->required()
      ->type_name("FILE");
  verb.add_option("--socket", arguments->socket, "where it answers")
      ->required()
      ->type_name("SOCKET");
  verb.add_option("--approve", arguments->approved,
                  "a measurement that may have keys; several, if repeated; "
                  "none: that of any job that the market has")
      ->type_name("DIGEST")
      ->allow_extra_args(false);
  verb.callback([arguments] { serve(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_keys(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market keys",
             .summary = "Release keys of shards to enclaves that may have them",
             .order = 60,
             .add = cli::add_market_keys});
}

}  // namespace weft
