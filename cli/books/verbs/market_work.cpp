// weft market work: a worker, which runs each job in a process of its own.
#include <CLI/CLI.hpp>
#include <fmt/core.h>

#include "cli/terminal.h"
#include "cli/verb.h"

#include "weft/market/worker.h"

namespace weft::cli {
namespace {

constexpr int kBetweenLooks = 500;  // milliseconds

struct MarketWorkArguments {
  market::WorkerSetting setting;
  std::string key;
  bool runs_once = false;
};

void add_setting_options(CLI::App& verb, market::WorkerSetting& setting) {
  verb.add_option("LEDGER", setting.ledger,
                  "a file, or postgresql://USER@HOST/DATABASE")
      ->required();
  verb.add_option("--machine", setting.machine,
                  "a file with the key that its enclave signs with")
      ->required()
      ->type_name("FILE");
  verb.add_option("--store", setting.store,
                  "folder of shards, recipes and models, by their digests")
      ->required()
      ->type_name("DIR");
  verb.add_option("--keys", setting.keys,
                  "a socket of weft market keys; several, if repeated")
      ->type_name("SOCKET")
      ->allow_extra_args(false);
  verb.add_option("--results", setting.results,
                  "folder of what jobs made, for their payers alone")
      ->required()
      ->type_name("DIR");
}

void work(const MarketWorkArguments& arguments) {
  const auto key = market::SigningKey::read(arguments.key);
  Ledger ledger = Ledger::open(arguments.setting.ledger);
  market::Market market(ledger);
  const auto told = [](const std::string& line) {
    fmt::print("{}\n", printable(line));
    std::fflush(stdout);
  };
  for (;;) {
    const std::int64_t job =
        market::work_once(market, key, arguments.setting, told);
    if (arguments.runs_once) return;
    if (job == 0) ledger.wait(ledger.head().sequence, kBetweenLooks);
  }
}

void add_market_work(CLI::App& verb) {
  auto arguments = std::make_shared<MarketWorkArguments>();
  add_setting_options(verb, arguments->setting);
  verb.add_option("--key", arguments->key, "a file with the worker's key")
      ->required()
      ->type_name("FILE");
  verb.add_flag("--once", arguments->runs_once,
                "run the job that there is, and end");
  verb.callback([arguments] { work(*arguments); });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_work(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market work",
             .summary = "Run the jobs that a worker is given",
             .order = 70,
             .add = cli::add_market_work});
}

}  // namespace weft
