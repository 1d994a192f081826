// weft market enclave: one job of a worker's, in a process of its own.
#include <CLI/CLI.hpp>

#include "cli/verb.h"

#include "weft/market/worker.h"

namespace weft::cli {
namespace {

struct MarketEnclaveArguments {
  market::WorkerSetting setting;
  std::string worker;
  std::int64_t job = 0;
};

void add_market_enclave(CLI::App& verb) {
  auto arguments = std::make_shared<MarketEnclaveArguments>();
  market::WorkerSetting& setting = arguments->setting;
  verb.add_option("LEDGER", setting.ledger, "of the market")->required();
  verb.add_option("JOB", arguments->job, "its number")->required();
  verb.add_option("--worker", arguments->worker, "whose job it is")
      ->required()
      ->type_name("ACCOUNT");
  verb.add_option("--machine", setting.machine, "as weft market work has it")
      ->required()
      ->type_name("FILE");
  verb.add_option("--store", setting.store, "as weft market work has it")
      ->required()
      ->type_name("DIR");
  verb.add_option("--keys", setting.keys, "as weft market work has it")
      ->type_name("SOCKET")
      ->allow_extra_args(false);
  verb.add_option("--results", setting.results, "as weft market work has it")
      ->required()
      ->type_name("DIR");
  verb.callback([arguments] {
    market::run_enclave(arguments->setting,
                        market::key_from_text(arguments->worker, "--worker"),
                        arguments->job);
  });
}

}  // namespace
}  // namespace weft::cli

namespace weft {

void register_verb_market_enclave(cli::VerbRegistry& verbs) {
  verbs.add({.name = "market enclave",
             .summary = "Run one job as its enclave, as weft market work does",
             .order = 75,
             .add = cli::add_market_enclave});
}

}  // namespace weft
